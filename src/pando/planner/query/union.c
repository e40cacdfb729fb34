/*
 * union.c: queries of the same columns as one.
 *
 * The tree of operations is balanced: the core walks it by recursion.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_oper.h"

#include "pando/planner/query/from_item.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/union.h"

/* How UNION compares a column. */
static SortGroupClause *
clause_of_column(Node *expr)
{
	SortGroupClause *clause = makeNode(SortGroupClause);

	get_sort_group_operators(exprType(expr), false, true, false, &clause->sortop,
							 &clause->eqop, NULL, &clause->hashable);
	return clause;
}

static Node *
union_of(int first, int count, List *columns, bool all)
{
	SetOperationStmt *result = makeNode(SetOperationStmt);

	if (count == 1)
	{
		RangeTblRef *ref = makeNode(RangeTblRef);

		ref->rtindex = first;
		return (Node *) ref;
	}
	result->op = SETOP_UNION;
	result->all = all;
	result->larg = union_of(first, count / 2, columns, all);
	result->rarg = union_of(first + count / 2, count - count / 2, columns, all);
	foreach_ptr (TargetEntry, entry, columns)
	{
		Node *expr = (Node *) entry->expr;

		result->colTypes = lappend_oid(result->colTypes, exprType(expr));
		result->colTypmods = lappend_int(result->colTypmods, exprTypmod(expr));
		result->colCollations = lappend_oid(result->colCollations, exprCollation(expr));
		if (!all)
			result->groupClauses = lappend(result->groupClauses, clause_of_column(expr));
	}
	return (Node *) result;
}

Query *
query_union(List *queries, bool all)
{
	Query *query = query_new();
	Query *first = linitial(queries);
	List *names = NIL;

	foreach_ptr (TargetEntry, entry, first->targetList)
	{
		TargetEntry *column = flatCopyTargetEntry(entry);
		Node *expr = (Node *) entry->expr;

		if (entry->resjunk)
			continue;
		names = lappend(names, makeString(pstrdup(entry->resname)));
		column->ressortgroupref = 0;
		column->expr = (Expr *) makeVar(1, entry->resno, exprType(expr), exprTypmod(expr),
										exprCollation(expr), 0);
		query->targetList = lappend(query->targetList, column);
	}
	foreach_ptr (Query, leaf, queries)
	{
		RangeTblEntry *rte = rte_new(RTE_SUBQUERY, "shard", copyObject(names));

		rte->subquery = leaf;
		query->rtable = lappend(query->rtable, rte);
	}
	query->setOperations = union_of(1, list_length(queries), query->targetList, all);
	return query;
}
