/*
 * exists_values.c: EXISTS as a test of values.
 *
 *     EXISTS (SELECT ... FROM inner WHERE inner.a = outer.b ...)
 *
 * is outer.b IN (SELECT inner.a ...), of which PostgreSQL makes a join. NOT EXISTS stays
 * one, of (SELECT DISTINCT inner.a ...): NOT IN would be looked up in a table of its own
 * for each part of the outer rows. They are read for the values of b that can occur.
 *
 * Where every node has the outer rows, (SELECT DISTINCT outer.b FROM outer WHERE EXISTS
 * ...) is as good: an index is asked up to the first row, and not for all.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "pando/planner/fragment/estimate.h"
#include "pando/planner/query/distinct.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/query/exists.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/part.h"
#include "pando/planner/residual/exists_values.h"
#include "pando/planner/residual/outer_values.h"
#include "pando/planner/residual/tie.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/where/place.h"

/* NOT EXISTS (SELECT FROM (query, each row once) WHERE tests); NULL if its rows can't be
 * told apart. */
static Node *
not_exists(Query *query, List *tests)
{
	RangeTblEntry *rte;

	query_make_distinct(query);
	if (query->distinctClause == NIL)
		return NULL;
	rte = rte_of_query("tied", query);
	rte->alias = makeAlias("tied", NIL);
	return none_of(query_from_rte(rte), tests);
}

/* The tie of the values themselves: value = outer; NULL: that isn't what it compares by.
 */
static Tie *
tie_of_value(const Tie *tie)
{
	const OpExpr *equality = tie->equality;
	Oid family =
		equality_family(equality->opno, linitial(equality->args), equality->inputcollid);
	Tie *result = palloc0(sizeof(Tie));

	result->equality = (OpExpr *) equality_of(tie->outer, tie->outer, family);
	result->inner = result->outer = tie->outer;
	result->inner_first = true;
	return result->equality != NULL ? result : NULL;
}

/* Are so many lookups, in each of so many shards, fewer than the rows to be read? */
static bool
lookups_are_less(Query *values, Query *rows, int shards)
{
	return estimate_query(values).rows * shards < estimate_query(rows).input;
}

/*
 * The values for which the sublink has rows, with the ties to them: where every node has
 * the item that they are of, and an index finds those rows, each node asks for its own
 * ones up to the first. NULL: the rows' values are read, see below.
 */
static Query *
values_that_exist(Query *level, Query *query, List **ties, SubLink *sublink, Node *but)
{
	int varno = ties_varno(*ties);
	Distribution distribution;
	List *own = NIL;
	Query *values;

	if (level_is_change(level) || tie_of_lookup(query, *ties) == NULL)
		return NULL;
	foreach_ptr (Tie, tie, *ties)
	{
		Tie *of_value = tie_of_value(tie);

		if (of_value == NULL)
			return NULL;
		own = lappend(own, of_value);
	}
	values = outer_values(level, *ties, but, copyObject((Node *) sublink));
	if (values == NULL ||
		place_table(rt_fetch(varno, level->rtable)->relid, varno)->kind != PLACE_ANYWHERE)
		return NULL;
	query_make_distinct(values);
	if (!query_is_set(values))
		return NULL;
	distribution = distribution_of_set(values);
	if (!distribution_has_shards(&distribution) ||
		!lookups_are_less(outer_values(level, *ties, but, NULL), query,
						  estimate_tasks(&distribution)))
		return NULL;
	*ties = own;
	return values;
}

/* Has it been made so before: are its rows distinct ones of the tied columns alone? */
static bool
is_of_distinct_rows(const Query *query)
{
	RangeTblRef *ref = linitial(query->jointree->fromlist);
	RangeTblEntry *rte =
		IsA(ref, RangeTblRef) ? rt_fetch(ref->rtindex, query->rtable) : NULL;

	return list_length(query->jointree->fromlist) == 1 &&
		   query->jointree->quals == NULL && rte != NULL &&
		   rte->rtekind == RTE_SUBQUERY && rte->subquery->distinctClause != NIL;
}

Node *
exists_of_values(Query *level, Node *qual, SubLink *sublink, bool negated)
{
	Query *query = copyObject((Query *) sublink->subselect);
	Query *values = NULL;
	List *tests = NIL;
	List *ties;
	int column = 0;

	if (query->hasAggs || !is_tied_by_where(query))
		return NULL;
	level_clear(query, LEVEL_ROWS | LEVEL_ORDER);
	query->targetList = NIL;
	ties = ties_take(query);
	if (ties == NIL || is_of_distinct_rows(query))
		return NULL;
	if (qual != NULL)
		values = values_that_exist(level, query, &ties, sublink, qual);
	if (values == NULL)
		restrict_to_values(query, level, ties, qual);
	else
		query = values;
	foreach_ptr (Tie, tie, ties)
	{
		int number =
			values != NULL ? ++column : part_add_column(query, tie->inner, "value");
		Node *test;

		if (negated)
		{
			Node *outer = copyObject(tie->outer);

			IncrementVarSublevelsUp(outer, 1, 0);
			test = (Node *) tie_with(tie, (Node *) query_column(1, query, number), outer);
		}
		else
			test = tie_test(tie, tie->outer, number, tie->inner, false);
		if (test == NULL)
			return NULL;
		tests = lappend(tests, test);
	}
	return negated ? not_exists(query, tests) : any_sublink(tests, query);
}
