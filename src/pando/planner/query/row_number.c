/*
 * row_number.c: row_number() as a column.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_oper.h"
#include "utils/fmgroids.h"

#include "pando/planner/query/row_number.h"

Node *
row_number_over(Query *query, List *columns)
{
	WindowFunc *number = makeNode(WindowFunc);
	WindowClause *window = makeNode(WindowClause);

	foreach_int(column, columns)
	{
		TargetEntry *entry = list_nth(query->targetList, column - 1);
		SortGroupClause *clause = makeNode(SortGroupClause);

		clause->tleSortGroupRef = entry->ressortgroupref = column;
		get_sort_group_operators(exprType((Node *) entry->expr), true, true, false,
								 &clause->sortop, &clause->eqop, NULL, &clause->hashable);
		window->partitionClause = lappend(window->partitionClause, clause);
	}
	number->winfnoid = F_ROW_NUMBER;
	number->wintype = INT8OID;
	number->winref = window->winref = 1;
	number->location = -1;
	window->frameOptions = FRAMEOPTION_DEFAULTS;
	query->windowClause = list_make1(window);
	query->hasWindowFuncs = true;
	return (Node *) number;
}
