/*
 * fragment_make.h: from an analysed Query to a Fragment, and from a Fragment to a place
 * in a plan.
 */
#ifndef PANDO_PLANNER_FRAGMENT_MAKE_H
#define PANDO_PLANNER_FRAGMENT_MAKE_H

#include "pando/compat/compat.h"
#include "nodes/plannodes.h"
#include "pando/plan/fragment.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/fragment/estimate.h"

/*
 * Makes the fragment that runs the whole of the query (a copy is taken) on the shard
 * groups which its distribution names. Stable expressions without Vars and external
 * Params become the fragment's params. Raises feature_not_supported for what can't be
 * sent (with what). `query` must be DIST_SHARDED, DIST_SINGLE or DIST_ANYWHERE.
 */
extern Fragment *fragment_from_query(Query *query, const Distribution *distribution);

/* For whom has the query's facts. */
extern Fragment *fragment_from_facts(Query *query, const Distribution *distribution,
									 const QueryFacts *facts);

/* The estimate becomes the fragment's. */
extern void fragment_take_estimate(Fragment *fragment, Estimate estimate);

/* The whole statement is one fragment: a plan with the CustomScan at its top. */
extern PlannedStmt *fragment_planned_stmt(Query *original, Fragment *fragment);

/*
 * A FROM item that stands for the fragment's rows, columns named and typed as the
 * fragment's: the residual query uses it like a subquery. It is an RTE_FUNCTION that the
 * planner's set_rel_pathlist_hook turns into a CustomPath with the fragment's row
 * estimate.
 */
extern RangeTblEntry *fragment_rte(Fragment *fragment);

/*
 * Gives the fragment of such an entry arguments: expressions of the level that the entry
 * is in. They are the values of the fragment's params that are PARAM_EXEC Params.
 */
extern void fragment_rte_give(RangeTblEntry *rte, List *arguments);

/* What a plan of its own results needs is needed by the plan that reads them, too. */
extern void plan_add_subplans(PlannedStmt *stmt, const Fragment *fragment);

#endif
