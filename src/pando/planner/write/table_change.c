/*
 * table_change.c: which tables a write changes, and how.
 *
 * Foreign keys with actions make a write change other tables than its own.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "commands/trigger.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "pando/planner/write/table_change.h"

Oid
write_target(const Query *query)
{
	return rt_fetch(query->resultRelation, query->rtable)->relid;
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

/* Does a change of the one table change the other, through foreign keys? */
static bool
change_reaches(Oid from, Oid to, bool update, List *seen)
{
	Relation relation;
	TriggerDesc *triggers;
	List *next = NIL;

	if (from == to)
		return true;
	if (list_member_oid(seen, from))
		return false;
	relation = table_open(from, AccessShareLock);
	triggers = relation->trigdesc;
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (refers_on(trigger->tgfoid, update))
			next = lappend_oid(next, trigger->tgconstrrelid);
	}
	table_close(relation, NoLock);
	seen = lappend_oid(list_copy(seen), from);
	foreach_oid(relid, next)
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
			if (write_target(query) != relid)
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
