/*
 * fragment_make.h: from an analysed Query to a Fragment.
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

/* Sets the fragment's output columns from a target list's columns that are not junk. */
extern void fragment_set_columns(Fragment *fragment, List *tlist);

/* Copies as the executor evaluates them: function defaults expanded, constants folded. */
extern List *plan_expressions(List *expressions);

#endif
