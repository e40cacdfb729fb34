/*
 * found_rows.c: rows that a statement has found and will change where they are.
 *
 * What an UPDATE, DELETE or MERGE reads first says which rows it will change, and to
 * what. A function that is called meanwhile must not change rows of the same table: the
 * statement would miss those, or take what they were. PostgreSQL raises an error for rows
 * that it meets after the function has changed them, and only for those; here it can't
 * be told which ones those are.
 */
#include "pando/compat/compat.h"

#include "executor/executor.h"
#include "utils/lsyscache.h"

#include "pando/compat/rights.h"
#include "pando/base/hook.h"
#include "pando/executor/found_rows.h"
#include "pando/metadata/table.h"

typedef struct Found
{
	List *tables; /* roots of partitions */
	struct Found *outer;
} Found;

static Found *kept = NULL; /* the innermost first */

void
found_rows_keep(List *tables, void (*run)(void *arg), void *arg)
{
	Found found = {.outer = kept};

	if (tables == NIL)
	{
		run(arg);
		return;
	}
	foreach_oid(table, tables) found.tables =
		lappend_oid(found.tables, table_root(table));
	kept = &found;
	PG_TRY();
	{
		run(arg);
	}
	PG_FINALLY();
	{
		kept = found.outer;
	}
	PG_END_TRY();
}

static bool
is_kept(Oid relid)
{
	Oid root = table_root(relid);

	for (const Found *found = kept; found != NULL; found = found->outer)
	{
		if (list_member_oid(found->tables, root))
			return true;
	}
	return false;
}

static void
refuse_change(const PlannedStmt *stmt)
{
	if (stmt->commandType == CMD_SELECT && !stmt->hasModifyingCTE)
		return;
	foreach_ptr (RangeTblEntry, rte, stmt->rtable)
	{
		if (rte->rtekind == RTE_RELATION &&
			(plan_rights(stmt, rte)->requiredPerms & (ACL_UPDATE | ACL_DELETE)) != 0 &&
			is_kept(rte->relid))
			ereport(ERROR,
					(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
					 errmsg("a function cannot change rows of table \"%s\" while a "
							"change of the table calls it",
							get_rel_name(rte->relid))));
	}
}

static void
refusing_start(QueryDesc *query, int eflags)
{
	if (kept != NULL)
		refuse_change(query->plannedstmt);
	hook_start_next(START_REFUSE, query, eflags);
}

void
found_rows_init(void)
{
	hook_start(START_REFUSE, refusing_start);
}
