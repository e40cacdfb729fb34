/*
 * table_change.c: which tables a write changes, and how.
 *
 * Foreign keys with actions make a write change other tables than its own. What is a row
 * of a partition is one of the tables above it, too.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/partition.h"
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

static bool
is_partition_of(Oid relid, Oid table)
{
	return get_rel_relispartition(relid) &&
		   list_member_oid(get_partition_ancestors(relid), table);
}

bool
tables_share_rows(Oid a, Oid b)
{
	return a == b || is_partition_of(a, b) || is_partition_of(b, a);
}

static bool
refers_on(Oid function, bool update)
{
	switch (function)
	{
		case F_RI_FKEY_CASCADE_DEL:
		case F_RI_FKEY_SETNULL_DEL:
		case F_RI_FKEY_SETDEFAULT_DEL:
			return !update;
		case F_RI_FKEY_CASCADE_UPD:
		case F_RI_FKEY_SETNULL_UPD:
		case F_RI_FKEY_SETDEFAULT_UPD:
			return update;
		default:
			return false;
	}
}

/* The tables with foreign keys by which a change of this one, or of a partition of it,
 * changes them. */
static List *
changed_with(Oid relid, bool update)
{
	List *result = NIL;

	foreach_oid(part, find_all_inheritors(relid, AccessShareLock, NULL))
	{
		Relation relation = table_open(part, AccessShareLock);
		const TriggerDesc *triggers = relation->trigdesc;

		for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
		{
			if (refers_on(triggers->triggers[i].tgfoid, update))
				result =
					list_append_unique_oid(result, triggers->triggers[i].tgconstrrelid);
		}
		table_close(relation, NoLock);
	}
	return result;
}

/* Does a change of the one table change the other, through foreign keys? */
static bool
change_reaches(Oid from, Oid to, bool update, List *seen)
{
	if (tables_share_rows(from, to))
		return true;
	if (list_member_oid(seen, from))
		return false;
	seen = lappend_oid(list_copy(seen), from);
	foreach_oid(relid, changed_with(from, update))
	{
		/* SET NULL is an update of that table, a cascade of deletions a deletion. */
		if (change_reaches(relid, to, update, seen) ||
			change_reaches(relid, to, true, seen))
			return true;
	}
	return false;
}

Change
change_of_table(const Query *query, Oid relid)
{
	switch (query->commandType)
	{
		case CMD_INSERT:
			if (!tables_share_rows(write_target(query), relid))
				return CHANGE_NOTHING;
			return query->onConflict && query->onConflict->action == ONCONFLICT_UPDATE
					   ? CHANGE_UPDATE
					   : CHANGE_INSERT;
		case CMD_MERGE:
			return change_reaches(write_target(query), relid, true, NIL) ||
						   change_reaches(write_target(query), relid, false, NIL)
					   ? CHANGE_UPDATE
					   : CHANGE_NOTHING;
		case CMD_UPDATE:
			return change_reaches(write_target(query), relid, true, NIL) ? CHANGE_UPDATE
																		 : CHANGE_NOTHING;
		case CMD_DELETE:
			return change_reaches(write_target(query), relid, false, NIL)
					   ? CHANGE_DELETE
					   : CHANGE_NOTHING;
		default:
			return CHANGE_NOTHING;
	}
}
