/*
 * local_plan.h: statements whose only shard group is on this node, planned by PostgreSQL.
 *
 * Such a statement becomes what it would be on a plain table: PostgreSQL's plan for this
 * node's shards, without a node of ours. Where the shard group is known when the
 * statement is planned, that is its plan. Where a parameter decides, the plan is a
 * fragment that carries the Query along (local_start.c).
 *
 * EXPLAIN shows the fragment with its task all the same.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_LOCAL_PLAN_H
#define PANDO_PLANNER_LOCAL_PLAN_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"
#include "pando/planner/where/distribution.h"

/* Plans the query, which is scribbled on, for this node's shards; NULL if it can't. */
extern PlannedStmt *plan_on_shards(Query *query, const DistTable *anchor, int index,
								   const char *source, int cursor_options,
								   ParamListInfo params);

/* The plan of a point query whose shard is here; NULL if it can't be planned so. The
 * query is scribbled on then. */
extern PlannedStmt *plan_point_here(Query *query, const DistTable *table, int index,
									const char *source, int cursor_options,
									ParamListInfo params);

/* The same for a SELECT that needs one shard group. */
extern PlannedStmt *plan_single_here(Query *query, const Distribution *distribution,
									 const char *source, int cursor_options,
									 ParamListInfo params);

/* Are PostgreSQL's plans for it such that other values give no better ones? */
extern bool local_plans_are_lookups(const FragmentLocal *local);

#endif
