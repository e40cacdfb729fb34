/*
 * write.c: which way a write of a distributed table goes.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/query/whole_row.h"
#include "pando/planner/write/insert.h"
#include "pando/planner/write/insert_select.h"
#include "pando/planner/write/key_change.h"
#include "pando/planner/write/may_run_here.h"
#include "pando/planner/write/merge.h"
#include "pando/planner/write/modify.h"
#include "pando/planner/write/target_policy.h"
#include "pando/planner/write/triggered.h"
#include "pando/planner/write/write.h"

/*
 * A view that was replaced by its table leaves its own EXCLUDED behind, whose name the
 * table's is to have in text.
 */
static void
forget_excluded_of_views(Query *query)
{
	Index varno = 0;

	if (query->onConflict == NULL || query->onConflict->exclRelIndex == 0)
		return;
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		varno++;
		if (varno != query->onConflict->exclRelIndex && rte->rtekind == RTE_RELATION &&
			rte->relkind == RELKIND_COMPOSITE_TYPE)
			rte->alias = rte->eref = makeAlias("excluded of a view", rte->eref->colnames);
	}
}

PlannedStmt *
plan_write(Query *query, int cursor_options, ParamListInfo params)
{
	const RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);
	const DistTable *target = dist_table(rte->relid);
	Fragment *fragment;
	Query *given;
	Query *bare;
	Point point;
	bool moves;

	if (target == NULL || target->kind == TABLE_MANAGED_LOCAL)
		return NULL;
	if (query->commandType == CMD_MERGE)
		return plan_merge(query, target, params);
	forget_excluded_of_views(query);
	given = query_with_rows_written_out(query);
	bare = query_without_target_policies(given);
	if (change_fires_here(bare, target))
		return plan_triggered(given, bare, target, cursor_options, params);
	moves = key_may_change(bare, target);
	if (moves || update_is_past_policies(bare, target))
		return plan_key_change(given, bare, target, moves, cursor_options, params);
	if (query->commandType != CMD_INSERT)
		fragment = change_fragment(given, bare, target);
	else if (insert_is_of_select(bare))
		fragment = insert_select_fragment(bare, target);
	else
		fragment = insert_values_fragment(bare, target);
	if (fragment == NULL)
		return plan_insert_select(bare, target, cursor_options, params);
	if (point_of_query(query, &point))
		fragment_may_run_here(fragment, query, point.key, cursor_options);
	return fragment_planned_stmt(query, fragment);
}
