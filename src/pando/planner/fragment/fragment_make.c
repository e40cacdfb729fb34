/*
 * fragment_make.c: from an analysed Query to a Fragment.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "pando/planner/query/query_shape.h"
#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/where/fragment_params.h"
#include "pando/planner/fragment/merge.h"
#include "pando/planner/fragment/partition_choice.h"
#include "pando/planner/fragment/spread.h"

/* Rows of a fragment of which nothing is known. */
#define DEFAULT_ROWS 1000

static ShardChoice
choice_of(const Distribution *distribution, CmdType command)
{
	switch (distribution->kind)
	{
		case DIST_ANYWHERE:
			return command == CMD_SELECT ? SHARDS_ANY_COPY : SHARDS_ALL_COPIES;
		case DIST_SHARDED:
		case DIST_SINGLE:
			return distribution->pruned ? SHARDS_BY_KEY : SHARDS_ALL;
		case DIST_COORDINATOR:
			break;
	}
	elog(ERROR, "a query that must run here can't be a fragment");
}

List *
plan_expressions(List *expressions)
{
	List *planned = NIL;

	foreach_ptr (Node, expr, expressions)
	{
		if (IsA(expr, Const) || IsA(expr, Param))
			planned = lappend(planned, expr);
		else
			planned = lappend(planned, expression_planner((Expr *) copyObject(expr)));
	}
	return planned;
}

static bool
column_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, Var) || IsA(node, Query) || IsA(node, SubLink) ||
		   IsA(node, Aggref) || expression_tree_walker(node, column_walker, context);
}

/* Expressions that are evaluated before a task starts: there is no row to take columns
 * of, be it one of an outer query. */
static List *
plan_values(List *expressions)
{
	bool has_column = column_walker((Node *) expressions, NULL);

	Assert(!has_column);
	if (has_column)
		elog(ERROR, "a value that a fragment is given refers to a column");
	return plan_expressions(expressions);
}

void
fragment_set_columns(Fragment *fragment, List *tlist)
{
	foreach_ptr (TargetEntry, tle, tlist)
	{
		Node *expr = (Node *) tle->expr;

		if (tle->resjunk)
			continue;
		fragment->column_names =
			lappend(fragment->column_names,
					makeString(pstrdup(tle->resname ? tle->resname : "?column?")));
		fragment->column_types = lappend_oid(fragment->column_types, exprType(expr));
		fragment->column_typmods =
			lappend_int(fragment->column_typmods, exprTypmod(expr));
		fragment->column_collations =
			lappend_oid(fragment->column_collations, exprCollation(expr));
		fragment->width += get_typavgwidth(exprType(expr), exprTypmod(expr));
	}
}

Fragment *
fragment_from_query(Query *query, const Distribution *distribution)
{
	QueryFacts facts = query_facts(query);

	return fragment_from_facts(query, distribution, &facts);
}

Fragment *
fragment_from_facts(Query *query, const Distribution *distribution,
					const QueryFacts *facts)
{
	Fragment *fragment = palloc0(sizeof(Fragment));
	List *params = NIL;
	Query *copy = fragment_params_extract(query, &params);

	fragment->command = query->commandType;
	fragment->anchor = distribution->anchor;
	fragment->choice = choice_of(distribution, query->commandType);
	fragment->keys = plan_values(distribution->keys);
	fragment->plans_anew = params != NIL && query_partitions_by_params(copy);
	fragment->template = template_from_query(copy, &fragment->relations);
	fragment->params = plan_values(params);
	fragment->rows = DEFAULT_ROWS;
	fragment->locks = facts->locks;
	fragment->only_reads = !fragment->locks && spread_only_reads(query);
	fragment->first_copy = facts->locks || facts->places;
	fragment->merges = query->commandType == CMD_SELECT && !fragment->locks &&
					   !fragment->first_copy && distribution->kind == DIST_SHARDED &&
					   merge_is_better(query);
	if (fragment->choice == SHARDS_ALL || fragment->choice == SHARDS_BY_KEY)
		fragment->spread = distribution->kind == DIST_SHARDED
							   ? spread_of_query(query, facts, fragment->merges)
							   : SPREAD_NEVER;
	fragment_set_columns(fragment, query_output(query));
	return fragment;
}

void
fragment_take_estimate(Fragment *fragment, Estimate estimate)
{
	fragment->rows = estimate.rows;
	fragment->width = estimate.width;
	fragment->cost = estimate.cost;
	fragment->column_stats = estimate.column_stats;
	fragment->mixed = estimate.mixed;
}
