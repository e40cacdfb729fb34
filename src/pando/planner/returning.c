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
	List *vars; /* of the write, by number of the column that returns them */
	Index depth;
} Returned;

static Node *
returned_mutator(Node *node, Returned *returned)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == returned->depth)
	{
		Var *var = copyObject((Var *) node);
		int number = 0;

		var->varlevelsup = 0;
		var->location = -1;
		foreach_ptr (Var, column, returned->vars)
		{
			number++;
			if (column->varno == var->varno && column->varattno == var->varattno)
				break;
		}
		var->varno = var->varnosyn = 1;
		var->varattno = var->varattnosyn = number;
		var->varlevelsup = returned->depth;
		return (Node *) var;
	}
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
distinct_vars(List *returning)
{
	List *vars = NIL;

	foreach_ptr (Var, var, pull_vars_of_level((Node *) returning, 0))
	{
		bool known = false;

		foreach_ptr (Var, other, vars)
			known |= other->varno == var->varno && other->varattno == var->varattno;
		if (known)
			continue;
		var = copyObject(var);
		var->varlevelsup = 0;
		vars = lappend(vars, var);
	}
	return vars;
}

static List *
columns_of_vars(List *vars)
{
	List *columns = NIL;

	foreach_ptr (Var, var, vars)
	{
		int number = list_length(columns) + 1;

		columns = lappend(columns, makeTargetEntry((Expr *) var, number,
												   psprintf("column%d", number), false));
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
	Returned returned = {.vars = distinct_vars(returning)};
	Query *select;

	/* As a column it would be computed here again. */
	foreach_ptr (Var, var, returned.vars)
	{
		if (var->varattno == TableOidAttributeNumber)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("RETURNING tableoid of table \"%s\", which has children, "
							"is not supported in a change of a distributed table",
							get_rel_name(rt_fetch(var->varno, write->rtable)->relid))));
	}
	write->returningList = columns_of_vars(returned.vars);
	write->canSetTag = false;
	*cte = makeNode(CommonTableExpr);
	(*cte)->ctename = pstrdup(name);
	(*cte)->ctequery = (Node *) write;
	select = query_of_columns(rte_of_cte(*cte, up));
	select->targetList =
		(List *) returned_mutator((Node *) copyObject(returning), &returned);
	select->hasSubLinks = checkExprHasSubLink((Node *) select->targetList);
	return select;
}
