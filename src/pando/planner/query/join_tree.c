/*
 * join_tree.c: inner joins taken apart.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"

/* Nested AND lists as one; a copy of the list, not of the expressions. */
List *
quals_flat(Node *quals)
{
	List *result = NIL;
	ListCell *cell;

	if (quals == NULL)
		return NIL;
	if (IsA(quals, List))
	{
		foreach (cell, (List *) quals)
			result = list_concat(result, quals_flat(lfirst(cell)));
		return result;
	}
	if (is_andclause(quals))
		return quals_flat((Node *) ((BoolExpr *) quals)->args);
	return list_make1(quals);
}

/* The type of an outer join, given what the qualifications above it refuse. */
JoinType
join_type_reduced(JoinExpr *join, List *quals)
{
	Relids refused = find_nonnullable_rels((Node *) quals);
	bool left = bms_overlap(refused, compat_relids_in_jointree(join->larg, false));
	bool right = bms_overlap(refused, compat_relids_in_jointree(join->rarg, false));

	switch (join->jointype)
	{
		case JOIN_LEFT:
			return right ? JOIN_INNER : JOIN_LEFT;
		case JOIN_RIGHT:
			return left ? JOIN_INNER : JOIN_RIGHT;
		case JOIN_FULL:
			if (left && right)
				return JOIN_INNER;
			return left ? JOIN_LEFT : right ? JOIN_RIGHT : JOIN_FULL;
		default:
			return join->jointype;
	}
}

/*
 * Takes nested inner joins apart: items are relations and outer joins, quals all the
 * AND-ed qualifications that hold for the rows.
 */
void
join_tree_flatten(Node *node, List **items, List **quals)
{
	if (IsA(node, JoinExpr))
	{
		JoinExpr *join = (JoinExpr *) node;

		if (join_type_reduced(join, *quals) == JOIN_INNER)
		{
			*quals = list_concat(*quals, quals_flat(join->quals));
			join_tree_flatten(join->larg, items, quals);
			join_tree_flatten(join->rarg, items, quals);
			return;
		}
	}
	else if (IsA(node, FromExpr))
	{
		ListCell *cell;

		*quals = list_concat(*quals, quals_flat(((FromExpr *) node)->quals));
		foreach (cell, ((FromExpr *) node)->fromlist)
			join_tree_flatten(lfirst(cell), items, quals);
		return;
	}
	*items = lappend(*items, node);
}

static bool
outer_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, JoinExpr) && ((JoinExpr *) node)->jointype != JOIN_INNER)
		return true;
	return expression_tree_walker(node, outer_walker, context);
}

bool
join_tree_has_outer(Node *tree)
{
	return outer_walker(tree, NULL);
}

/* Columns of a join's side: their numbers in it, with their names and Vars. */
static List *
side_columns(Query *query, Node *side, List **names, List **vars)
{
	bool is_join = IsA(side, JoinExpr);
	int rtindex =
		is_join ? ((JoinExpr *) side)->rtindex : ((RangeTblRef *) side)->rtindex;
	List *numbers = NIL;
	int number = 0;

	expandRTE(rt_fetch(rtindex, query->rtable), rtindex, 0, -1, false, names, vars);
	foreach_ptr (Var, var, *vars)
		numbers = lappend_int(numbers, is_join ? ++number : var->varattno);
	return numbers;
}

static void
renew_join(Query *query, Node *node)
{
	JoinExpr *join = (JoinExpr *) node;
	RangeTblEntry *rte;
	List *left_names;
	List *right_names;
	List *left_vars;
	List *right_vars;

	if (!IsA(node, JoinExpr))
		return;
	renew_join(query, join->larg);
	renew_join(query, join->rarg);
	rte = rte_new(RTE_JOIN, "unnamed_join", NIL);
	rte->jointype = join->jointype;
	rte->joinleftcols = side_columns(query, join->larg, &left_names, &left_vars);
	rte->joinrightcols = side_columns(query, join->rarg, &right_names, &right_vars);
	rte->joinaliasvars = list_concat(left_vars, right_vars);
	rte->eref->colnames = list_concat(left_names, right_names);
	query->rtable = lappend(query->rtable, rte);
	join->rtindex = list_length(query->rtable);
	join->usingClause = NIL;
	join->alias = join->join_using_alias = NULL;
}

/*
 * New range table entries for all joins of the level, after their sides have changed. The
 * deparser wants them to have the columns of both sides, and to come after both.
 */
void
join_tree_renew(Query *query)
{
	ListCell *cell;

	foreach (cell, query->rtable)
	{
		if (((RangeTblEntry *) lfirst(cell))->rtekind == RTE_JOIN)
			lfirst(cell) = unused_rte();
	}
	foreach_ptr (Node, item, query->jointree->fromlist)
		renew_join(query, item);
}

Node *
quals_as_node(List *quals)
{
	if (quals == NIL)
		return NULL;
	if (list_length(quals) == 1)
		return linitial(quals);
	return (Node *) makeBoolExpr(AND_EXPR, quals, -1);
}
