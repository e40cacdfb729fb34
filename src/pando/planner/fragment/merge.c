/*
 * merge.c: are tasks of one node better one query over all of their shards?
 *
 * What every task reads in full (reference tables, rows sent to all) is read and hashed
 * once per task; aggregates leave a row of each group per task. Over all of the node's
 * shards as one table, which the executor puts into the text as a UNION ALL, that happens
 * once. On the other hand joins of shards with each other work on less at a time when
 * they go shard by shard. So it is worth it where one sharded table is aggregated or
 * joined, and where what is read again and again outweighs the shards.
 *
 * A table that is a subquery in the text has no system columns and no row type, no
 * primary key that determines columns of its groups, and can't be sampled or read alone,
 * without the tables that inherit from it.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "pando/metadata/table.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/fragment/merge.h"
#include "pando/planner/where/result_scope.h"

/* Of a table without statistics. */
#define DEFAULT_TUPLES 1000
/*
 * A row that each task reads again costs its share of the whole; one of larger joins
 * costs only what they are slower for their size.
 */
#define READ_AGAIN 2

/* A row that was sent is read from a file and kept: so many times what one of a table is.
 */
#define SENT_ROW 4

typedef struct Merge
{
	bool possible;
	int sharded; /* mentions of sharded tables, and of rows sent to shard groups */
	double sharded_rows;
	bool others;
	double other_rows; /* of what each task reads in full */
	double parts;	   /* shards of the table that has most */
} Merge;

static double
tuples_of_table(Oid relid)
{
	double tuples = estimate_counted_rows(relid);

	return tuples < 0 ? DEFAULT_TUPLES : tuples;
}

static void
add_table(Merge *merge, const RangeTblEntry *rte)
{
	const DistTable *table = dist_table(rte->relid);

	if (table == NULL || !dist_table_is_sharded(table))
	{
		merge->others = true;
		merge->other_rows += tuples_of_table(rte->relid);
		return;
	}
	if (!rte->inh || rte->tablesample != NULL)
		merge->possible = false;
	merge->sharded++;
	merge->sharded_rows += tuples_of_table(rte->relid);
	merge->parts = Max(merge->parts, table->nshards);
}

static void
add_functions(Merge *merge, const RangeTblEntry *rte)
{
	foreach_ptr (RangeTblFunction, function, rte->functions)
	{
		SubResult *result = result_of_call(function->funcexpr);
		double rows = result != NULL && result->plan != NULL
						  ? result->plan->planTree->plan_rows
						  : DEFAULT_TUPLES;

		if (result != NULL && result->exchange && result->column > 0)
		{
			merge->sharded++;
			merge->sharded_rows += rows;
		}
		else
		{
			merge->others = true;
			merge->other_rows += rows * SENT_ROW;
		}
	}
}

static bool
merge_walker(Node *node, void *context)
{
	Merge *merge = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		if (((Var *) node)->varattno <= 0)
			merge->possible = false;
		return false;
	}
	if (IsA(node, RangeTblEntry))
	{
		if (((RangeTblEntry *) node)->rtekind == RTE_RELATION)
			add_table(merge, (RangeTblEntry *) node);
		else if (((RangeTblEntry *) node)->rtekind == RTE_FUNCTION)
			add_functions(merge, (RangeTblEntry *) node);
		return false;
	}
	if (IsA(node, Query))
	{
		Query *query = (Query *) node;

		if (query->rowMarks != NIL || query->commandType != CMD_SELECT ||
			query->constraintDeps != NIL)
			merge->possible = false;
		return query_tree_walker(query, merge_walker, context,
								 QTW_EXAMINE_RTES_BEFORE | QTW_IGNORE_JOINALIASES);
	}
	return expression_tree_walker(node, merge_walker, context);
}

bool
merge_is_better(Query *query)
{
	Merge merge = {.possible = true};

	(void) merge_walker((Node *) query, &merge);
	if (!merge.possible || merge.sharded == 0)
		return false;
	if (merge.sharded == 1)
		return merge.others || query->hasAggs || query->groupClause != NIL;
	return merge.other_rows * merge.parts * READ_AGAIN > merge.sharded_rows;
}
