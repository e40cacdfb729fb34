/*
 * column_use.c: which columns of a FROM item its level reads; those of subqueries that it
 * doesn't go.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "pando/plan/row_place.h"
#include "pando/planner/query/column_use.h"
#include "pando/planner/query/query_shape.h"

bool
is_shard_call_for(Node *node, Index varno, Index depth)
{
	return is_shard_call(node) && shard_call_column(node)->varno == (int) varno &&
		   shard_call_column(node)->varlevelsup == depth;
}

static bool
use_walker(Node *node, void *context)
{
	ColumnUse *use = context;

	if (node == NULL)
		return false;
	if (is_shard_call_for(node, use->varno, use->depth))
	{
		use->system = true;
		return false;
	}
	if (IsA(node, Var))
	{
		Var *var = (Var *) node;

		if (var->varno != (int) use->varno || var->varlevelsup != use->depth)
			return false;
		if (var->varattno == InvalidAttrNumber)
			use->whole_row = true;
		else if (var->varattno < 0)
			use->system = true;
		else
			use->columns = bms_add_member(use->columns, var->varattno);
		return false;
	}
	if (IsA(node, Query))
	{
		use->depth++;
		query_tree_walker((Query *) node, use_walker, context, QTW_IGNORE_JOINALIASES);
		use->depth--;
		return false;
	}
	return expression_tree_walker(node, use_walker, context);
}

ColumnUse
column_use(Query *level, Index varno)
{
	ColumnUse use = {.varno = varno};

	query_tree_walker(level, use_walker, &use, QTW_IGNORE_JOINALIASES);
	return use;
}

/* Nothing but the column's value is lost with it: no row, no effect, no order. */
static bool
column_can_go(const TargetEntry *column)
{
	Node *expr = (Node *) column->expr;

	return !column->resjunk && column->ressortgroupref == 0 && !IsA(expr, Const) &&
		   !expression_returns_set(expr) && !contain_aggs_of_level(expr, 0) &&
		   !query_varies(expr);
}

static void
drop_unread_columns(Query *subquery, const ColumnUse *use)
{
	if (subquery->commandType != CMD_SELECT || subquery->setOperations != NULL ||
		subquery->distinctClause != NIL || use->whole_row)
		return;
	foreach_ptr (TargetEntry, column, subquery->targetList)
	{
		Node *expr = (Node *) column->expr;

		if (!bms_is_member(column->resno, use->columns) && column_can_go(column))
			column->expr = (Expr *) makeNullConst(exprType(expr), exprTypmod(expr),
												  exprCollation(expr));
	}
	if (subquery->hasWindowFuncs && !contain_windowfuncs((Node *) subquery->targetList))
	{
		subquery->hasWindowFuncs = false;
		subquery->windowClause = NIL;
	}
	subquery->hasSubLinks =
		subquery->hasSubLinks && checkExprHasSubLink((Node *) subquery);
}

void
level_drop_unread_columns(Query *level)
{
	Index varno = 0;

	/* Its arms' columns are read by their numbers. */
	if (level->setOperations != NULL)
		return;
	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		varno++;
		if (rte->rtekind == RTE_SUBQUERY)
		{
			ColumnUse use = column_use(level, varno);

			drop_unread_columns(rte->subquery, &use);
		}
	}
}
