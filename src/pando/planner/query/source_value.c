/*
 * source_value.c: columns of FROM items of one row, as the values that they have.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/query/source_value.h"

/* No join makes NULLs of its items' columns. */
static bool
keeps_values(const Query *query)
{
	return !join_tree_has_outer((Node *) query->jointree);
}

/* The value of an item's column in all of its rows; NULL: it isn't known. */
static Node *
value_of_column(const RangeTblEntry *rte, AttrNumber column)
{
	Query *query = rte->subquery;
	Node *value;

	if (rte->rtekind == RTE_VALUES && list_length(rte->values_lists) == 1)
		value = list_nth(linitial(rte->values_lists), column - 1);
	else if (rte->rtekind != RTE_SUBQUERY || query->setOperations != NULL ||
			 query->groupingSets != NIL || query->hasTargetSRFs || !keeps_values(query) ||
			 column > list_length(query->targetList))
		return NULL;
	else
	{
		value = (Node *) ((TargetEntry *) list_nth(query->targetList, column - 1))->expr;
		if (IsA(value, Var) && ((Var *) value)->varlevelsup == 0 &&
			((Var *) value)->varattno > 0)
			value = value_of_column(rt_fetch(((Var *) value)->varno, query->rtable),
									((Var *) value)->varattno);
	}
	if (value == NULL || contain_var_clause(value) || expression_refers_outside(value) ||
		checkExprHasSubLink(value) || contain_aggs_of_level(value, 0) ||
		contain_windowfuncs(value) || expression_varies(value))
		return NULL;
	return value;
}

static Node *
values_mutator(Node *node, void *context)
{
	Query *query = context;
	Var *var = (Var *) node;
	Node *value = NULL;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && var->varlevelsup == 0 && var->varattno > 0)
		value = value_of_column(rt_fetch(var->varno, query->rtable), var->varattno);
	if (value != NULL)
		return copyObject(value);
	return expression_tree_mutator(node, values_mutator, context);
}

Node *
expression_with_source_values(Node *expr, Query *level)
{
	return keeps_values(level) ? values_mutator(expr, level) : copyObject(expr);
}
