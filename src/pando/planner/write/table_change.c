/*
 * table_change.c: which tables a write changes, and how.
 *
 * Foreign keys with actions make a write change other tables than its own. What is a row
 * of a partition, or of a table that inherits, is one of the tables above it, too.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "commands/trigger.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/planner/write/table_change.h"

Oid
write_target(const Query *query)
{
	return rt_fetch(query->resultRelation, query->rtable)->relid;
}

bool
tables_share_rows(Oid a, Oid b)
{
	List *parts;
	List *others;

	if (a == b)
		return true;
	if (!has_subclass(a) && !has_subclass(b))
		return false;
	parts = find_all_inheritors(a, AccessShareLock, NULL);
	others = find_all_inheritors(b, AccessShareLock, NULL);
	return list_length(list_difference_oid(parts, others)) < list_length(parts);
}

static bool
refers_on(Oid function, bool deletes, bool updates)
{
	switch (function)
	{
		case F_RI_FKEY_CASCADE_DEL:
		case F_RI_FKEY_SETNULL_DEL:
		case F_RI_FKEY_SETDEFAULT_DEL:
			return deletes;
		case F_RI_FKEY_CASCADE_UPD:
		case F_RI_FKEY_SETNULL_UPD:
		case F_RI_FKEY_SETDEFAULT_UPD:
			return updates;
		default:
			return false;
	}
}

/* The tables with foreign keys by which a change of this one, or of a partition of it,
 * changes them. */
static List *
changed_with(Oid relid, bool deletes, bool updates)
{
	List *result = NIL;

	foreach_oid(part, find_all_inheritors(relid, AccessShareLock, NULL))
	{
		Relation relation = table_open(part, AccessShareLock);
		const TriggerDesc *triggers = relation->trigdesc;

		for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
		{
			if (refers_on(triggers->triggers[i].tgfoid, deletes, updates))
				result =
					list_append_unique_oid(result, triggers->triggers[i].tgconstrrelid);
		}
		table_close(relation, NoLock);
	}
	return result;
}

static bool
updates_on_conflict(const Query *query)
{
	return query->onConflict != NULL && query->onConflict->action == ONCONFLICT_UPDATE;
}

List *
changed_tables(const Query *query)
{
	CmdType command = query->commandType;
	bool deletes = command == CMD_DELETE || command == CMD_MERGE;
	bool updates =
		command == CMD_UPDATE || command == CMD_MERGE || updates_on_conflict(query);
	List *tables = NIL;

	if (command == CMD_SELECT)
		return NIL;
	if (deletes || updates)
		tables = changed_with(write_target(query), deletes, updates);
	/* SET NULL is an update of that table, a cascade of deletions a deletion. */
	for (int i = 0; i < list_length(tables); i++)
		tables = list_concat_unique_oid(
			tables, changed_with(list_nth_oid(tables, i), true, true));
	return list_append_unique_oid(tables, write_target(query));
}

static Change
change_of_query(const Query *query)
{
	switch (query->commandType)
	{
		case CMD_DELETE:
			return CHANGE_DELETE;
		case CMD_INSERT:
			return updates_on_conflict(query) ? CHANGE_UPDATE : CHANGE_INSERT;
		default:
			return CHANGE_UPDATE;
	}
}

Change
change_of_table(const Query *query, const List *changed, Oid relid)
{
	foreach_oid(table, changed)
	{
		if (tables_share_rows(table, relid))
			return change_of_query(query);
	}
	return CHANGE_NOTHING;
}
