/*
 * carried.c: columns that one query takes from another, which it reads as a FROM item.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"

#include "pando/plan/row_place.h"
#include "pando/planner/query/carried.h"

static Node *
carried_column(Carried *carried, Node *expr)
{
	int number = 0;

	expr = copyObject(expr);
	IncrementVarSublevelsUp(expr, -(int) carried->depth, 0);
	if (!list_member(carried->exprs, expr))
		carried->exprs = lappend(carried->exprs, expr);
	while (!equal(list_nth(carried->exprs, number++), expr))
		;
	return (Node *) makeVar(carried->varno, number, exprType(expr), exprTypmod(expr),
							exprCollation(expr), carried->depth);
}

static bool
is_carried(const Carried *carried, const Var *var)
{
	return var->varlevelsup == carried->depth && var->varno != (int) carried->kept;
}

static Node *
carried_mutator(Node *node, Carried *carried)
{
	if (node == NULL)
		return NULL;
	if (is_shard_call(node) && is_carried(carried, shard_call_column(node)))
		return carried_column(carried, node);
	if (IsA(node, Var) && is_carried(carried, (Var *) node))
		return carried_column(carried, node);
	if (IsA(node, Query))
	{
		Node *result;

		carried->depth++;
		result = (Node *) query_tree_mutator((Query *) node, carried_mutator, carried, 0);
		carried->depth--;
		return result;
	}
	return expression_tree_mutator(node, carried_mutator, carried);
}

Node *
carried_columns(Node *expr, Carried *carried)
{
	return carried_mutator(expr, carried);
}

List *
columns_of(List *exprs)
{
	List *columns = NIL;

	foreach_ptr (Expr, expr, exprs)
	{
		int number = list_length(columns) + 1;

		columns = lappend(
			columns, makeTargetEntry(expr, number, psprintf("column%d", number), false));
	}
	/* A row is a row. */
	if (columns == NIL)
		columns = list_make1(
			makeTargetEntry((Expr *) makeBoolConst(true, false), 1, "row", false));
	return columns;
}
