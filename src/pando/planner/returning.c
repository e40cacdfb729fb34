/*
 * returning.c: RETURNING with what no shard can compute.
 *
 * The write returns the columns that RETURNING mentions, and a SELECT over those rows
 * computes it here.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "pando/metadata/table.h"
#include "pando/plan/row_place.h"
#include "pando/planner/flatten.h"
#include "pando/planner/from_item.h"
#include "pando/planner/hazard.h"
#include "pando/planner/returning.h"
#include "pando/planner/write.h"

bool
returning_is_computed_here(Query *query)
{
	Node *returning = (Node *) query->returningList;
	const DistTable *target;

	if (returning == NULL)
		return false;
	target = dist_table(rt_fetch(query->resultRelation, query->rtable)->relid);
	if (target == NULL || target->kind == TABLE_MANAGED_LOCAL)
		return false;
	if (query->commandType == CMD_INSERT && checkExprHasSubLink(returning))
		return true;
	if (table_has_copies(target) && expression_varies(returning))
		return true;
	return expression_hazard(
			   (Node *) query_with_rows_written_out(query)->returningList) != NULL;
}

typedef struct Returned
{
	List *exprs; /* of the write, by number of the column that returns them */
	Index depth;
} Returned;

/* The column for it, of the row that the write returns. */
static Node *
returned_column(Returned *returned, Node *expr)
{
	int number = 0;

	expr = copyObject(expr);
	IncrementVarSublevelsUp(expr, -(int) returned->depth, 0);
	if (!list_member(returned->exprs, expr))
		returned->exprs = lappend(returned->exprs, expr);
	while (!equal(list_nth(returned->exprs, number++), expr))
		;
	return (Node *) makeVar(1, number, exprType(expr), exprTypmod(expr),
							exprCollation(expr), returned->depth);
}

static Node *
returned_mutator(Node *node, Returned *returned)
{
	if (node == NULL)
		return NULL;
	if (is_shard_call(node) && shard_call_column(node)->varlevelsup == returned->depth)
		return returned_column(returned, node);
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == returned->depth)
		return returned_column(returned, node);
	if (IsA(node, Query))
	{
		Node *result;

		returned->depth++;
		result =
			(Node *) query_tree_mutator((Query *) node, returned_mutator, returned, 0);
		returned->depth--;
		return result;
	}
	return expression_tree_mutator(node, returned_mutator, returned);
}

static List *
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

Query *
returning_split(Query *write, const char *name, CommonTableExpr **cte, Index up)
{
	List *returning = (List *) expression_with_shell_oids(
		(Node *) query_with_rows_written_out(write)->returningList, write);
	Returned returned = {0};
	Query *select;

	returning = (List *) returned_mutator((Node *) returning, &returned);
	/* As a column it would be computed here again. */
	foreach_ptr (Var, var, returned.exprs)
	{
		if (IsA(var, Var) && var->varattno == TableOidAttributeNumber)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("RETURNING tableoid of table \"%s\", which has children, "
							"is not supported in a change of a distributed table",
							get_rel_name(rt_fetch(var->varno, write->rtable)->relid))));
	}
	write->returningList = columns_of(returned.exprs);
	write->canSetTag = false;
	*cte = makeNode(CommonTableExpr);
	(*cte)->ctename = pstrdup(name);
	(*cte)->ctequery = (Node *) write;
	select = query_of_columns(rte_of_cte(*cte, up));
	select->targetList = returning;
	select->hasSubLinks = checkExprHasSubLink((Node *) select->targetList);
	return select;
}
