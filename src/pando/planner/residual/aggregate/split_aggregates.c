/*
 * split_aggregates.c: grouping in two phases: partial on the shards, final here.
 *
 * The shards run the level's FROM and WHERE, grouped by the level's grouping expressions
 * (of all grouping sets together), and yield partial aggregates. The residual is the
 * level as it was written over their rows: grouping expressions are columns now,
 * aggregates are made of the partial ones. HAVING, windows, DISTINCT, ORDER BY and LIMIT
 * stay as they are.
 *
 * Shards may group by more than the residual: an aggregate with DISTINCT adds its
 * arguments there, which removes duplicates early, and a partial result of smaller
 * groups is combined like that of several shards.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/query/aggregate.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/part.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/residual/aggregate/distinct_set.h"
#include "pando/planner/residual/aggregate/per_node.h"
#include "pando/planner/residual/aggregate/split_aggregates.h"
#include "pando/planner/where/distribution.h"
#include "parser/parse_clause.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* The fragment's number in the residual's range table. */
#define FRAGMENT_VARNO 1

/* Times the memory of a hash table that sets of distinct values may take. */
#define SET_MEMORY 16

typedef struct Splitting
{
	Query *query; /* the level; a copy until the split has worked */
	Query *part;
	List *group_exprs; /* of the level's GROUP BY */
	const char *name;  /* for a column that is a target entry as a whole */
	Node *whole;	   /* that target entry's expression */
	int depth;		   /* of the pass over the residual */
	bool failed;
} Splitting;

/* An expression of the level as seen from `depth` levels below, or back. */
static Node *
at_depth(Node *expr, int from, int to)
{
	expr = copyObject(expr);
	if (from != to)
		IncrementVarSublevelsUp(expr, to - from, from);
	return expr;
}

static Var *
column_var(Splitting *splitting, Node *expr, const char *name)
{
	int column = part_column(splitting->part, expr, name);

	return makeVar(FRAGMENT_VARNO, column, exprType(expr), exprTypmod(expr),
				   exprCollation(expr), splitting->depth);
}

/* The shards group by the column as well. */
static void
group_part_by(Splitting *splitting, Node *expr, SortGroupClause *like)
{
	TargetEntry *entry = list_nth(splitting->part->targetList,
								  part_column(splitting->part, expr, "column") - 1);
	SortGroupClause *clause;

	if (entry->ressortgroupref != 0)
		return;
	if (like != NULL)
		clause = copyObject(like);
	else
	{
		bool hashable;

		clause = makeNode(SortGroupClause);
		get_sort_group_operators(exprType(expr), false, true, false, &clause->sortop,
								 &clause->eqop, NULL, &hashable);
		clause->hashable = hashable;
	}
	entry->ressortgroupref = entry->resno;
	clause->tleSortGroupRef = entry->resno;
	clause->nulls_first = false;
	splitting->part->groupClause = lappend(splitting->part->groupClause, clause);
}

static const char *
name_for(Splitting *splitting, Node *node, const char *otherwise)
{
	return node == splitting->whole && splitting->name != NULL ? splitting->name
															   : otherwise;
}

/* A column that GROUP BY determines (through a primary key), though it isn't in there. */
static Node *
dependent_column(Splitting *splitting, Var *var)
{
	Query *query = splitting->query;
	Node *expr = at_depth((Node *) var, splitting->depth, 0);
	TargetEntry *entry;
	SortGroupClause *clause;
	RangeTblEntry *rte = rt_fetch(var->varno, query->rtable);
	Var *column;

	if (query->groupingSets != NIL || query->groupClause == NIL || var->varattno <= 0)
	{
		splitting->failed = true;
		return (Node *) var;
	}
	column =
		column_var(splitting, expr,
				   name_for(splitting, (Node *) var,
							strVal(list_nth(rte->eref->colnames, var->varattno - 1))));
	group_part_by(splitting, expr, NULL);
	/* Group by it here as well: one more junk column. */
	clause = copyObject(llast(splitting->part->groupClause));
	column = copyObject(column);
	column->varlevelsup = 0;
	entry = makeTargetEntry((Expr *) column, 0, NULL, true);
	entry->ressortgroupref = 0;
	clause->tleSortGroupRef = 0;
	splitting->group_exprs = lappend(splitting->group_exprs, expr);
	query->groupClause = lappend(query->groupClause, clause);
	query->constraintDeps = NIL;
	/* Numbered when the target list is complete: see number_dependent(). */
	query->targetList = lappend(query->targetList, entry);
	column = copyObject(column);
	column->varlevelsup = splitting->depth;
	return (Node *) column;
}

static Node *split_mutator(Node *node, void *context);

/* The aggregate stays; its arguments become columns that the shards group by. */
static Node *
distinct_aggregate(Splitting *splitting, Aggref *aggref)
{
	Aggref *result = copyObject(aggref);
	ListCell *cell;

	foreach (cell, result->args)
	{
		TargetEntry *entry = lfirst(cell);
		Node *expr = at_depth((Node *) entry->expr, splitting->depth, 0);

		entry->expr = (Expr *) column_var(splitting, expr, "column");
		foreach_ptr (SortGroupClause, clause, aggref->aggdistinct)
		{
			if (clause->tleSortGroupRef == entry->ressortgroupref)
				group_part_by(splitting, expr, clause);
		}
	}
	if (result->aggfilter != NULL)
	{
		Node *expr = at_depth((Node *) result->aggfilter, splitting->depth, 0);

		result->aggfilter = (Expr *) column_var(splitting, expr, "filter");
		group_part_by(splitting, expr, NULL);
	}
	return (Node *) result;
}

/* Without statistics the number of distinct values is anybody's guess. */
static bool
has_statistics(Query *query, Node *expr)
{
	Var *var = (Var *) expr;
	RangeTblEntry *rte;

	if (!IsA(expr, Var) || var->varlevelsup > 0)
		return false;
	rte = rt_fetch(var->varno, query->rtable);
	return rte->rtekind == RTE_RELATION &&
		   SearchSysCacheExists3(STATRELATTINH, ObjectIdGetDatum(rte->relid),
								 Int16GetDatum(var->varattno), BoolGetDatum(false));
}

/*
 * Are the values of the aggregate few enough to be counted in memory? Estimates may be
 * wrong by far, so the bound is a generous one: a sort spills, but takes much longer.
 */
static bool
is_counted_in_sets(Splitting *splitting, const Aggref *aggref)
{
	const TargetEntry *argument = linitial(aggref->args);
	double limit = SET_MEMORY * (double) get_hash_memory_limit();
	Query *values;

	if (!distinct_set_counts(aggref))
		return false;
	values = copyObject(splitting->part);
	level_clear(values, LEVEL_ROWS);
	values->targetList = NIL;
	part_column(values, (Node *) argument->expr, "value");
	if (distinct_set_bytes(estimate_query(values).rows) <= limit)
		return true;
	if (!has_statistics(values, (Node *) argument->expr))
		return false;
	((TargetEntry *) linitial(values->targetList))->ressortgroupref = 1;
	values->groupClause = list_make1(copyObject(linitial(aggref->aggdistinct)));
	((SortGroupClause *) linitial(values->groupClause))->tleSortGroupRef = 1;
	return distinct_set_bytes(estimate_query(values).rows) <= limit;
}

static Node *
average(Splitting *splitting, Aggref *aggref, Aggref *plain)
{
	Var *sum = column_var(splitting, (Node *) aggregate_average_sum(plain), "sum");
	Var *count = column_var(splitting, (Node *) aggregate_average_count(plain), "count");

	return aggregate_average_final(aggref, sum, count);
}

static Node *
split_aggregate(Splitting *splitting, Aggref *aggref)
{
	AggregateSplit split = aggregate_split(aggref);
	Aggref *plain;
	Var *column;

	if (split == SPLIT_NONE)
	{
		splitting->failed = true;
		return (Node *) aggref;
	}
	plain = (Aggref *) at_depth((Node *) aggref, splitting->depth, 0);
	if (expression_refers_outside((Node *) plain))
	{
		splitting->failed = true;
		return (Node *) aggref;
	}
	if (split == SPLIT_DISTINCT && is_counted_in_sets(splitting, plain))
	{
		column = column_var(splitting, (Node *) aggregate_set_partial(plain), "set");
		return aggregate_set_final(aggref, column);
	}
	if (split == SPLIT_DISTINCT)
		return distinct_aggregate(splitting, aggref);
	if (split == SPLIT_AVERAGE)
		return average(splitting, aggref, plain);
	column =
		column_var(splitting, (Node *) aggregate_partial(plain),
				   name_for(splitting, (Node *) aggref, get_func_name(aggref->aggfnoid)));
	return aggregate_final(aggref, column);
}

static Node *
grouping_column(Splitting *splitting, Node *node)
{
	ListCell *cell;

	foreach (cell, splitting->group_exprs)
	{
		Node *expr = lfirst(cell);

		if (splitting->depth > 0)
			expr = at_depth(expr, 0, splitting->depth);
		if (equal(expr, node))
			return (Node *) column_var(splitting, lfirst(cell),
									   name_for(splitting, node, "column"));
	}
	return NULL;
}

static const char *
name_of_var(Splitting *splitting, Node *node)
{
	RangeTblEntry *rte;
	Var *var = (Var *) node;

	if (!IsA(node, Var) || var->varattno <= 0)
		return "column";
	rte = rt_fetch(var->varno, splitting->part->rtable);
	return strVal(list_nth(rte->eref->colnames, var->varattno - 1));
}

static Node *
split_mutator(Node *node, void *context)
{
	Splitting *splitting = context;
	Node *column;

	if (node == NULL || splitting->failed)
		return node;
	column = grouping_column(splitting, node);
	if (column != NULL)
		return column;
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == splitting->depth)
		return split_aggregate(splitting, (Aggref *) node);
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == splitting->depth)
		return dependent_column(splitting, (Var *) node);
	if (IsA(node, Query))
	{
		Query *result;

		splitting->depth++;
		result = query_tree_mutator((Query *) node, split_mutator, context,
									QTW_IGNORE_JOINALIASES);
		splitting->depth--;
		return (Node *) result;
	}
	return expression_tree_mutator(node, split_mutator, context);
}

/* Grouping expressions; false when there is one that the shards can't group by. */
static bool
collect_group_exprs(Splitting *splitting)
{
	Query *query = splitting->query;
	ListCell *cell;

	foreach (cell, query->groupClause)
	{
		Node *expr = get_sortgroupclause_expr(lfirst(cell), query->targetList);

		if (IsA(expr, Const) || expression_returns_set(expr) ||
			contain_volatile_functions(expr) || checkExprHasSubLink(expr) ||
			expression_refers_outside(expr))
			return false;
		/* One for each clause, in the clauses' order. */
		splitting->group_exprs = lappend(splitting->group_exprs, expr);
	}
	return true;
}

/* Columns that were added while the list was worked on get their numbers. */
static void
number_dependent(Query *query)
{
	Index ref = 0;
	AttrNumber resno = 0;

	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		ref = Max(ref, entry->ressortgroupref);
	}
	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		resno++;
		if (entry->resno != 0)
			continue;
		entry->resno = resno;
		entry->ressortgroupref = ++ref;
		foreach_ptr (SortGroupClause, clause, query->groupClause)
		{
			if (clause->tleSortGroupRef == 0)
			{
				clause->tleSortGroupRef = ref;
				break;
			}
		}
	}
}

/* Rewrites the level over the fragment's columns; the part gets columns and grouping. */
static void
split_level(Splitting *splitting)
{
	Query *query = splitting->query;
	List *groups = copyObject(query->groupClause);
	List *entries = query->targetList;
	List *exprs = splitting->group_exprs;
	ListCell *cell;

	query->targetList = NIL;
	foreach (cell, entries)
	{
		TargetEntry *entry = lfirst(cell);

		splitting->whole = (Node *) entry->expr;
		splitting->name = entry->resname;
		if (splitting->name == NULL)
			splitting->name = name_of_var(splitting, splitting->whole);
		entry->expr = (Expr *) split_mutator((Node *) entry->expr, splitting);
	}
	splitting->whole = NULL;
	query->havingQual = split_mutator(query->havingQual, splitting);
	query->targetList = list_concat(entries, query->targetList);
	number_dependent(query);
	if (splitting->failed)
		return;
	/* Each of them was a target entry, and so is a column by now. */
	foreach (cell, groups)
	{
		SortGroupClause *clause = lfirst(cell);

		group_part_by(splitting, list_nth(exprs, foreach_current_index(cell)), clause);
	}
}

/* All that the shards are to evaluate, without grouping: where can that be done? */
static Distribution
distribution_of_input(Query *part)
{
	Query *input = copyObject(part);
	List *entries = input->targetList;
	ListCell *cell;

	level_clear(input, LEVEL_ROWS);
	input->targetList = NIL;
	foreach (cell, entries)
	{
		Node *expr = (Node *) ((TargetEntry *) lfirst(cell))->expr;

		if (IsA(expr, Aggref))
		{
			foreach_ptr (TargetEntry, argument, ((Aggref *) expr)->args)
			{
				part_column(input, (Node *) argument->expr, "argument");
			}
			if (((Aggref *) expr)->aggfilter != NULL)
				part_column(input, (Node *) ((Aggref *) expr)->aggfilter, "filter");
		}
		else
			part_column(input, expr, "column");
	}
	return distribution_of_query(input);
}

bool
level_split_aggregates(Query *query)
{
	Splitting splitting = {0};
	Distribution distribution;

	if (!query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL)
		return false;
	/* Its filters and ours must not be evaluated in any order. */
	if (level_has_row_security(query))
		return false;
	splitting.part =
		part_make(query, query->jointree->fromlist, quals_flat(query->jointree->quals));
	distribution = distribution_of_query(splitting.part);
	if (!distribution_has_shards(&distribution))
		return false;

	splitting.query = copyObject(query);
	if (!collect_group_exprs(&splitting))
		return false;
	split_level(&splitting);
	if (splitting.failed)
		return false;
	splitting.part->hasAggs = contain_agg_clause((Node *) splitting.part->targetList);
	distribution = distribution_of_input(splitting.part);
	if (!distribution_has_shards(&distribution))
		return false;

	*query = *splitting.query;
	query->rtable = list_make1(part_fragment_of_groups(splitting.part, &distribution));
	query->jointree = from_one(FRAGMENT_VARNO);
	query->hasSubLinks = checkExprHasSubLink((Node *) query->targetList) ||
						 checkExprHasSubLink(query->havingQual) ||
						 checkExprHasSubLink(query->limitCount) ||
						 checkExprHasSubLink(query->limitOffset);
	return true;
}
