/*
 * estimate.c: how many rows a query piece yields, how wide they are, what it costs.
 *
 * PostgreSQL's own planner answers, up to its choice of paths: no plan is made. It sees
 * the shell tables with the sizes and statistics that ANALYZE took from the shards
 * (statistics/shell_stats.c), as if all rows were here.
 */
#include "pando/compat/compat.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "partitioning/partdesc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "pando/compat/query_form.h"
#include "pando/metadata/table.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/where/exchange_item.h"
#include "pando/planner/query/query_shape.h"

/* What a row needs on the wire beside its values. */
#define ROW_OVERHEAD 8

static bool under_way = false;

bool
estimate_under_way(void)
{
	return under_way;
}

/* The query, planned up to its paths, in the current memory context. */
static PlannerInfo *
plan_paths(Query *query)
{
	PlannerGlobal *glob = makeNode(PlannerGlobal);
	PlannerInfo *root;

	/* As standard_planner() begins, for a plan without parallel workers. */
	glob->parallelModeOK = false;
	glob->maxParallelHazard = PROPARALLEL_UNSAFE;
	query = copyObject(query);
	exchange_expand(query);
	query_form_leave(query);
	under_way = true;
	PG_TRY();
	{
		root = compat_subquery_planner(glob, query);
	}
	PG_FINALLY();
	{
		under_way = false;
	}
	PG_END_TRY();
	/* It holds the partitioned tables open, and is for more planning alone. */
	if (glob->partition_directory != NULL)
		DestroyPartitionDirectory(glob->partition_directory);
	glob->partition_directory = NULL;
	return root;
}

static Path *
best_path(PlannerInfo *root)
{
	return fetch_upper_rel(root, UPPERREL_FINAL, NULL)->cheapest_total_path;
}

double
estimate_groups(double rows, double groups, int parts)
{
	if (parts <= 1 || groups <= 0)
		return groups;
	/* A group is missing from a part when none of its rows got there. */
	return Min(rows, parts * groups * -expm1(-(rows / parts) / groups));
}

/* Solved for D, in d = D * (1 - exp(-m / D)), by bisection. */
double
estimate_distinct(double d, double m, double n)
{
	double low = d;
	double high = n;

	if (d >= 0.98 * m)
		return n; /* unique, as far as one can see */
	for (int i = 0; i < 60 && high - low > 0.5; i++)
	{
		double middle = (low + high) / 2;

		if (middle * -expm1(-m / middle) < d)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
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
			return estimate_groups(*input, path->rows, tasks);
		case T_GroupPath:
			*input = ((GroupPath *) path)->subpath->rows;
			return estimate_groups(*input, path->rows, tasks);
		case T_UpperUniquePath:
			rows = rows_of_parts(((UpperUniquePath *) path)->subpath, tasks, input);
			return estimate_groups(rows, path->rows, tasks);
		default:
			*input = path->rows;
			return path->rows;
	}
}

/* ------------------------------------------------------------------------------------
 * Statistics of columns.
 */

HeapTuple
estimate_column_stats(double distinct)
{
	Relation catalog = table_open(StatisticRelationId, AccessShareLock);
	Datum values[Natts_pg_statistic] = {0};
	bool nulls[Natts_pg_statistic] = {false};
	HeapTuple tuple;

	values[Anum_pg_statistic_stadistinct - 1] = Float4GetDatum(distinct);
	for (int i = 0; i < STATISTIC_NUM_SLOTS; i++)
	{
		nulls[Anum_pg_statistic_stanumbers1 - 1 + i] = true;
		nulls[Anum_pg_statistic_stavalues1 - 1 + i] = true;
	}
	tuple = heap_form_tuple(RelationGetDescr(catalog), values, nulls);
	table_close(catalog, AccessShareLock);
	return tuple;
}

/* What is known of the expression's values; the number of distinct ones is absolute. */
static HeapTuple
stats_of_expression(PlannerInfo *root, Node *expr, double rows, MemoryContext context)
{
	VariableStatData variable;
	MemoryContext old;
	HeapTuple tuple = NULL;

	if (contain_agg_clause(expr) || contain_window_function(expr) ||
		contain_subplans(expr) || expression_returns_set(expr) ||
		!contain_var_clause(expr))
		return NULL;
	examine_variable(root, expr, 0, &variable);
	old = MemoryContextSwitchTo(context);
	/* Only what the user may see is handed on. */
	if (HeapTupleIsValid(variable.statsTuple) && variable.acl_ok)
	{
		bool isdefault;

		tuple = heap_copytuple(variable.statsTuple);
		((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct =
			get_variable_numdistinct(&variable, &isdefault);
	}
	MemoryContextSwitchTo(old);
	ReleaseVariableStats(variable);
	if (tuple == NULL)
	{
		double distinct = estimate_num_groups(root, list_make1(expr), rows, NULL, NULL);

		MemoryContextSwitchTo(context);
		tuple = estimate_column_stats(distinct);
		MemoryContextSwitchTo(old);
	}
	return tuple;
}

static List *
stats_of_columns(PlannerInfo *root, double rows, MemoryContext context)
{
	List *stats = NIL;

	if (root->parse->setOperations != NULL)
		return NIL;
	foreach_ptr (TargetEntry, entry, root->parse->targetList)
	{
		HeapTuple tuple;
		MemoryContext old;

		if (entry->resjunk)
			continue;
		tuple = stats_of_expression(root, (Node *) entry->expr, rows, context);
		old = MemoryContextSwitchTo(context);
		stats = lappend(stats, tuple);
		MemoryContextSwitchTo(old);
	}
	return stats;
}

/* ------------------------------------------------------------------------------------
 * Estimates.
 */

/* Are the rows those of a join, with columns of more than one item? */
static bool
is_mixed(Query *query)
{
	return query_is_plain(query) &&
		   bms_membership(pull_varnos(NULL, (Node *) query->targetList)) == BMS_MULTIPLE;
}

/* The core can't plan it by itself: what it refers to is outside. */
static Estimate
guess(void)
{
	Estimate estimate = {.rows = 1000, .input = 1000, .width = 32, .cost = 100};

	return estimate;
}

static Estimate
estimate(Query *query, int tasks, bool columns)
{
	MemoryContext context;
	MemoryContext old;
	PlannerInfo *root;
	Path *path;
	Estimate result = {0};

	if (query_refers_outside(query))
		return guess();
	context = AllocSetContextCreate(CurrentMemoryContext, "pando estimate",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	root = plan_paths(query);
	path = best_path(root);
	result.rows = clamp_row_est(rows_of_parts(path, tasks, &result.input));
	result.groups = path->rows;
	result.width = path->pathtarget->width;
	result.cost = path->total_cost;
	if (columns)
	{
		result.column_stats = stats_of_columns(root, result.input, old);
		result.mixed = is_mixed(query);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return result;
}

Estimate
estimate_query(Query *query)
{
	return estimate(query, 1, false);
}

Estimate
estimate_per_task(Query *query, int tasks)
{
	return estimate(query, tasks, true);
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

int
estimate_nodes(const Distribution *distribution)
{
	int tasks = estimate_tasks(distribution);
	const DistTable *table = tasks > 1 ? dist_table(distribution->anchor) : NULL;

	return Max(1, Min(table != NULL ? table->ngroups : 1, tasks));
}

double
estimate_counted_rows(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double rows = -1;

	if (HeapTupleIsValid(tuple))
	{
		rows = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	return rows;
}

double
estimate_bytes(double rows, int width)
{
	return rows * (width + ROW_OVERHEAD);
}
