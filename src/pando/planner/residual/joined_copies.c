/*
 * joined_copies.c: correlated aggregates over reference tables, once per task.
 *
 *     FROM distributed JOIN r ... WHERE r.x > (SELECT avg(x) FROM r i WHERE i.y = r.y)
 *
 * runs on the shards as it is written, and is evaluated there row by row. PostgreSQL
 * keeps a row of r that was found, with the aggregate's value, for the rows that join it
 * again (Memoize), but each task sees a part of these rows, and does so anew. Joined with
 * the grouped rows, (SELECT y, avg(x) FROM r GROUP BY y), each task computes all values
 * once. Estimates of both tell what is cheaper.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"

#include "pando/metadata/table.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/residual/decorrelate.h"
#include "pando/planner/residual/joined_copies.h"

/* PostgreSQL takes each evaluation of a subplan for the first: nothing of what it reads
 * is expected to be at hand. */
#define LOOKUPS_OF_SUBPLAN 10

static bool
aggregate_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink) && ((SubLink *) node)->subLinkType == EXPR_SUBLINK &&
		((Query *) ((SubLink *) node)->subselect)->hasAggs &&
		contain_vars_of_level(((SubLink *) node)->subselect, 1))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, aggregate_walker, context, 0);
	return expression_tree_walker(node, aggregate_walker, context);
}

static bool
count_shards(Query *level, void *context)
{
	int *shards = context;

	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		const DistTable *table =
			rte->rtekind == RTE_RELATION ? dist_table(rte->relid) : NULL;

		if (table != NULL)
			*shards = Max(*shards, table->nshards);
	}
	return false;
}

Query *
query_with_copies_joined(Query *query)
{
	Query *joined;
	List *grouped;
	Cost cost = 0;
	int shards = 1;

	if (!aggregate_walker((Node *) query, NULL))
		return query;
	joined = copyObject(query);
	grouped = query_join_copies(joined);
	if (grouped == NIL)
		return query;
	(void) query_each_level(joined, count_shards, &shards);
	/* Of the rest no task does what another one does. */
	foreach_ptr (Query, once, grouped)
		cost += shards * estimate_query(once).cost;
	cost += estimate_query(joined).cost;
	return cost * LOOKUPS_OF_SUBPLAN < estimate_query(query).cost ? joined : query;
}
