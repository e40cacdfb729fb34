/*
 * written.c: tables that have been changed since a statement began to watch them.
 *
 * A statement sees no change that it makes itself, or that functions make which it calls:
 * its snapshot is older. Nodes can't be asked for what was there before, so that a
 * statement which reads tables again and again while rows are changed has to know if any
 * of them is another by then. Statements are noted when they start. A call that runs on
 * another node may change any table.
 */
#include "pando/compat/compat.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "pando/compat/rights.h"
#include "pando/base/hook.h"
#include "pando/executor/written.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"

struct Written
{
	List *tables;
	Oid changed;
	const PlannedStmt *own;
	Written *outer;
	MemoryContextCallback end;
};

static Written *watching = NULL; /* the innermost first */

static void
watch_end(void *arg)
{
	for (Written **place = &watching; *place != NULL; place = &(*place)->outer)
	{
		if (*place == arg)
		{
			*place = (*place)->outer;
			return;
		}
	}
}

Written *
written_watch(List *tables)
{
	Written *written = palloc0(sizeof(Written));

	written->tables = tables;
	written->outer = watching;
	written->end.func = watch_end;
	written->end.arg = written;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &written->end);
	watching = written;
	return written;
}

void
written_start_own(Written *written, const PlannedStmt *plan)
{
	written->own = plan;
}

void
written_note(Written *written, Oid relid)
{
	Oid root = table_root(relid);

	if (list_member_oid(written->tables, root))
		written->changed = root;
}

Oid
written_table(const Written *written)
{
	return written->changed;
}

static void
note_statement(Written *written, const PlannedStmt *stmt)
{
	if (plan_is_kind(stmt->planTree, PLAN_CALL))
		written->changed = linitial_oid(written->tables);
	if (stmt->commandType == CMD_SELECT && !stmt->hasModifyingCTE)
		return;
	foreach_ptr (RangeTblEntry, rte, stmt->rtable)
	{
		if (rte->rtekind == RTE_RELATION && (plan_rights(stmt, rte)->requiredPerms &
											 (ACL_INSERT | ACL_UPDATE | ACL_DELETE)) != 0)
			written_note(written, rte->relid);
	}
}

static void
noting_start(QueryDesc *query, int eflags)
{
	for (Written *written = watching; written != NULL; written = written->outer)
	{
		if (written->own != query->plannedstmt)
			note_statement(written, query->plannedstmt);
	}
	hook_start_next(START_NOTE, query, eflags);
}

void
written_init(void)
{
	hook_start(START_NOTE, noting_start);
}
