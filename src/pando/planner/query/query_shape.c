/*
 * query_shape.c: questions about a query tree that know nothing of shards.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "pando/plan/row_place.h"
#include "pando/planner/query/query_shape.h"

typedef struct Outside
{
	Index depth;
	bool with_queries; /* do WITH queries of the outside count as well? */
} Outside;

static bool
outside_walker(Node *node, void *context)
{
	Outside *outside = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varlevelsup > outside->depth;
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup > outside->depth)
		return true;
	if (IsA(node, RangeTblEntry))
		return outside->with_queries && ((RangeTblEntry *) node)->rtekind == RTE_CTE &&
			   ((RangeTblEntry *) node)->ctelevelsup > outside->depth;
	if (IsA(node, Query))
	{
		bool found;

		outside->depth++;
		found = query_tree_walker((Query *) node, outside_walker, context,
								  QTW_IGNORE_JOINALIASES | QTW_EXAMINE_RTES_BEFORE);
		outside->depth--;
		return found;
	}
	return expression_tree_walker(node, outside_walker, context);
}

bool
expression_refers_outside(Node *expr)
{
	Outside outside = {0};

	return outside_walker(expr, &outside);
}

bool
query_refers_outside(Query *query)
{
	Outside outside = {.with_queries = true};

	return query_tree_walker(query, outside_walker, &outside,
							 QTW_IGNORE_JOINALIASES | QTW_EXAMINE_RTES_BEFORE);
}

bool
clause_limits(Node *limit)
{
	return limit != NULL && !(IsA(limit, Const) && ((Const *) limit)->constisnull);
}

bool
query_is_plain(const Query *query)
{
	return query->setOperations == NULL && !query->hasAggs && !query->hasTargetSRFs &&
		   query->groupClause == NIL && query->groupingSets == NIL &&
		   query->havingQual == NULL && query->distinctClause == NIL &&
		   query->limitCount == NULL && query->limitOffset == NULL &&
		   query->rowMarks == NIL;
}

bool
level_has_row_security(Query *query)
{
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (rte->securityQuals != NIL)
			return true;
	}
	return false;
}

bool
has_record_columns(List *target_list, bool junk_too)
{
	foreach_ptr (TargetEntry, entry, target_list)
	{
		Oid type = exprType((Node *) entry->expr);

		if ((junk_too || !entry->resjunk) &&
			(type == RECORDOID || type == RECORDARRAYOID))
			return true;
	}
	return false;
}

static bool
is_volatile(Oid function, void *context)
{
	return func_volatile(function) == PROVOLATILE_VOLATILE;
}

static bool
varies_walker(Node *node, void *context)
{
	bool *into_queries = context;

	if (node == NULL)
		return false;
	if (IsA(node, NextValueExpr))
		return true;
	/* True for each copy of the row, as each is marked. */
	if (is_row_moved(node))
		return false;
	if (check_functions_in_node(node, is_volatile, NULL))
		return true;
	if (IsA(node, Query))
		return *into_queries &&
			   query_tree_walker((Query *) node, varies_walker, context, 0);
	return expression_tree_walker(node, varies_walker, context);
}

bool
expression_varies(Node *node)
{
	bool into_queries = false;

	return varies_walker(node, &into_queries);
}

bool
query_varies(Node *node)
{
	bool into_queries = true;

	return varies_walker(node, &into_queries);
}

List *
query_output(const Query *query)
{
	return query->commandType == CMD_SELECT ? query->targetList : query->returningList;
}
