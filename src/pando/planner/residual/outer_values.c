/*
 * outer_values.c: the values that can occur in the rows that a sublink is evaluated for.
 *
 * Those that the filters of their table leave. A query that stands for the sublink need
 * not look for others. Those of one column are enough, where the others would leave
 * hardly fewer rows: there are fewer of them.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "pando/planner/fragment/estimate.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/part.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/residual/outer_values.h"
#include "pando/planner/residual/tie.h"
#include "pando/planner/where/hazard.h"

/* Values of one column are enough when they leave no more than that many times the rows.
 */
#define ENOUGH_ROWS 2

/* A sublink without ties to anything: it can be computed once. */
static bool
sublinks_stand_alone_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
		return query_refers_outside((Query *) ((SubLink *) node)->subselect) ||
			   sublinks_stand_alone_walker(((SubLink *) node)->testexpr, context);
	return expression_tree_walker(node, sublinks_stand_alone_walker, context);
}

bool
qual_is_filter_of(Node *qual, Index varno)
{
	Relids relids = pull_varnos(NULL, qual);

	return bms_is_member(varno, relids) && bms_num_members(relids) == 1 &&
		   !contain_volatile_functions(qual) && !expression_refers_outside(qual) &&
		   expression_hazard(qual) == NULL && !sublinks_stand_alone_walker(qual, NULL);
}

Query *
outer_values(Query *level, List *ties, Node *but, Node *more)
{
	int varno = ties_varno(ties);
	List *filters = NIL;
	Node *item = NULL;
	Query *values;

	if (varno == 0 || rt_fetch(varno, level->rtable)->rtekind != RTE_RELATION ||
		rt_fetch(varno, level->rtable)->securityQuals != NIL)
		return NULL;
	foreach_ptr (Node, candidate, level->jointree->fromlist)
	{
		if (IsA(candidate, RangeTblRef) && ((RangeTblRef *) candidate)->rtindex == varno)
			item = candidate;
	}
	foreach_ptr (Node, qual, quals_flat(level->jointree->quals))
	{
		if (qual != but && qual_is_filter_of(qual, varno))
			filters = lappend(filters, qual);
	}
	if (item == NULL || filters == NIL)
		return NULL;
	if (more != NULL)
		filters = lappend(filters, more);
	values = part_make(level, list_make1(item), filters);
	foreach_ptr (Tie, tie, ties)
		(void) part_add_column(values, tie->outer, "value");
	return values;
}

/* Leaves of the query what has the ties' values. False: an operator has no form for it.
 */
static bool
add_values(Query *query, Query *level, List *ties, Node *but)
{
	Query *values = outer_values(level, ties, but, NULL);
	List *tests = NIL;
	int number = 0;

	if (values == NULL)
		return false;
	foreach_ptr (Tie, tie, ties)
	{
		Node *test = tie_test(tie, tie->inner, ++number, tie->outer, true);

		if (test == NULL)
			return false;
		tests = lappend(tests, test);
	}
	query->jointree->quals =
		make_and_qual(query->jointree->quals, any_sublink(tests, values));
	query->hasSubLinks = true;
	return true;
}

static double
rows_with_values(Query *query, Query *level, List *ties, Node *but)
{
	Query *copy = copyObject(query);

	return add_values(copy, level, ties, but) ? estimate_query(copy).input : -1;
}

bool
level_is_change(const Query *level)
{
	return level->resultRelation != 0;
}

void
restrict_to_values(Query *query, Query *level, List *ties, Node *but)
{
	double all;
	double least;
	List *chosen = ties;

	if (level_is_change(level))
		return;
	all = list_length(ties) > 1 ? rows_with_values(query, level, ties, but) : -1;
	least = all * ENOUGH_ROWS;
	foreach_ptr (Tie, tie, all > 0 ? ties : NIL)
	{
		double rows = rows_with_values(query, level, list_make1(tie), but);

		if (rows <= 0 || rows > least)
			continue;
		least = rows;
		chosen = list_make1(tie);
	}
	(void) add_values(query, level, chosen, but);
}
