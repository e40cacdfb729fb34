/*
 * local_plan.c: statements whose only shard group is on this node, planned by PostgreSQL.
 *
 * The relation OIDs of the Query are swapped (copies_here.c), and standard_planner does
 * the rest. The finished plan has the shell tables in its range table, too, for
 * permissions, locks and invalidation. A shard that moves away changes its shell table's
 * metadata, and with it goes the plan.
 */
#include "pando/compat/compat.h"

#include "pando/base/counter.h"
#include "pando/planner/fragment/plan_relations.h"
#include "pando/planner/where/copies_here.h"
#include "pando/planner/local/local_plan.h"
#include "pando/planner/local/lookup_plan.h"
#include "pando/planner/write/may_run_here.h"
#include "pando/planner/fragment/planning.h"

/* Might the row have to move to another shard? */
static bool
assigns_key(Query *query, const DistTable *table)
{
	List *assignments = NIL;

	if (query->commandType == CMD_UPDATE)
		assignments = query->targetList;
	else if (query->onConflict)
		assignments = query->onConflict->onConflictSet;
	foreach_ptr (TargetEntry, tle, assignments)
	{
		if (!tle->resjunk && tle->resno == table->key)
			return true;
	}
	return false;
}

PlannedStmt *
plan_on_shards(Query *query, const DistTable *anchor, int index, const char *source,
			   int cursor_options, ParamListInfo params)
{
	PlanRelations shells = plan_relations_of(query);
	PlannedStmt *stmt;

	if (!query_use_local_shards(query, anchor, index))
		return NULL;
	stmt = plan_locally(query, source, cursor_options, params);
	plan_relations_add(stmt, &shells);
	return stmt;
}

PlannedStmt *
plan_point_here(Query *query, const DistTable *table, int index, const char *source,
				int cursor_options, ParamListInfo params)
{
	PlannedStmt *stmt;

	if (assigns_key(query, table) || !may_stand_on_shards(query))
		return NULL;
	stmt = plan_on_shards(query, table, index, source, cursor_options, params);
	if (stmt != NULL)
		counter_add(COUNTER_QUERY_SINGLE);
	return stmt;
}

PlannedStmt *
plan_single_here(Query *query, const Distribution *distribution, const char *source,
				 int cursor_options, ParamListInfo params)
{
	Point point = {.table = dist_table_require(distribution->anchor)};
	PlannedStmt *stmt;
	int index;

	if (distribution->pruned)
	{
		if (list_length(distribution->keys) != 1)
			return NULL;
		point.key = linitial(distribution->keys);
	}
	else if (point.table->kind != TABLE_SINGLE)
		return NULL;
	index = point_shard(&point, params);
	/* Rows of reference tables are locked on their first copy. */
	if (query->hasForUpdate || !shard_is_only_here(point.table, index) ||
		!may_stand_on_shards(query))
		return NULL;
	stmt = plan_on_shards(copyObject(query), point.table, index, source, cursor_options,
						  params);
	if (stmt != NULL)
		counter_add(COUNTER_QUERY_SINGLE);
	return stmt;
}

bool
local_plans_are_lookups(const FragmentLocal *local)
{
	const DistTable *anchor = dist_table_require(local->anchor);
	int index = first_shard_here(anchor);
	PlannedStmt *stmt = NULL;

	if (index >= 0)
		stmt = plan_on_shards(copyObject(local->query), anchor, index, NULL,
							  local->cursor_options, NULL);
	return stmt != NULL && plan_is_lookup(stmt);
}
