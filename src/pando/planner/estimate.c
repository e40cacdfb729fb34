/*
 * estimate.c: how many rows a query piece yields, how wide they are, what it costs.
 *
 * PostgreSQL's own planner answers, up to its choice of paths: no plan is made. It sees
 * the shell tables with the sizes and statistics that ANALYZE took from the shards
 * (ddl/shell_stats.c), as if all rows were here.
 */
#include "pando/compat/compat.h"

#include <math.h>

#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "utils/memutils.h"

#include "pando/metadata/table.h"
#include "pando/planner/cut.h"
#include "pando/planner/estimate.h"
#include "pando/planner/exchange.h"

/* What a row needs on the wire beside its values. */
#define ROW_OVERHEAD 8

/* The best path of the query, in the current memory context. */
static Path *
best_path(Query *query)
{
	PlannerGlobal *glob = makeNode(PlannerGlobal);
	PlannerInfo *root;

	/* As standard_planner() begins, for a plan without parallel workers. */
	glob->parallelModeOK = false;
	glob->maxParallelHazard = PROPARALLEL_UNSAFE;
	query = copyObject(query);
	exchange_expand(query);
	root = subquery_planner(glob, query, NULL, false, 0.0);
	return fetch_upper_rel(root, UPPERREL_FINAL, NULL)->cheapest_total_path;
}

/* Groups that `tasks` parts of `rows` rows have together, when all have `groups`. */
static double
groups_of_parts(double rows, double groups, int tasks)
{
	double part = rows / tasks;

	if (tasks <= 1 || groups <= 0)
		return groups;
	/* A group is missing from a part when none of its rows got there. */
	return Min(rows, tasks * groups * -expm1(-part / groups));
}

/* Rows of the path when what is at its top is done by each task for itself. */
static double
rows_of_parts(Path *path, int tasks, double *input)
{
	double rows;

	switch (nodeTag(path))
	{
		case T_LimitPath:
			rows = rows_of_parts(((LimitPath *) path)->subpath, tasks, input);
			return Min(rows, path->rows * tasks);
		case T_ProjectionPath:
			return rows_of_parts(((ProjectionPath *) path)->subpath, tasks, input);
		case T_SortPath:
		case T_IncrementalSortPath:
			return rows_of_parts(((SortPath *) path)->subpath, tasks, input);
		case T_AggPath:
			*input = ((AggPath *) path)->subpath->rows;
			return groups_of_parts(*input, path->rows, tasks);
		case T_GroupPath:
			*input = ((GroupPath *) path)->subpath->rows;
			return groups_of_parts(*input, path->rows, tasks);
		case T_UpperUniquePath:
			rows = rows_of_parts(((UpperUniquePath *) path)->subpath, tasks, input);
			return groups_of_parts(rows, path->rows, tasks);
		default:
			*input = path->rows;
			return path->rows;
	}
}

/* The core can't plan it by itself: what it refers to is outside. */
static Estimate
guess(void)
{
	Estimate estimate = {.rows = 1000, .input = 1000, .width = 32, .cost = 100};

	return estimate;
}

static Estimate
estimate_path(Query *query, int tasks)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pando estimate",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Path *path = best_path(query);
	Estimate estimate = {0};

	estimate.rows = clamp_row_est(rows_of_parts(path, tasks, &estimate.input));
	estimate.width = path->pathtarget->width;
	estimate.cost = path->total_cost;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return estimate;
}

Estimate
estimate_per_task(Query *query, int tasks)
{
	return query_refers_outside(query, true) ? guess() : estimate_path(query, tasks);
}

Estimate
estimate_query(Query *query)
{
	return estimate_per_task(query, 1);
}

int
estimate_tasks(const Distribution *distribution)
{
	const DistTable *table;

	if (distribution->kind != DIST_SHARDED)
		return 1;
	if (distribution->pruned)
		return Max(1, list_length(distribution->keys));
	table = dist_table(distribution->anchor);
	return table != NULL ? Max(1, table->nshards) : 1;
}

double
estimate_bytes(double rows, int width)
{
	return rows * (width + ROW_OVERHEAD);
}
