/*
 * result_scope.c: intermediate results of one residual, and what reads them in a query.
 *
 * A result has a number in the scope. What reads it is a call of
 * read_intermediate_result() or, for an exchange, pando.exchange_rows(), whose argument
 * is the number's placeholder.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"

#include "pando/plan/template.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/where/result_scope.h"

/* SubResults of the scope, by number from 1. */
static List *results;

List *
results_enter(void)
{
	List *outer = results;

	results = NIL;
	return outer;
}

List *
results_scope(void)
{
	return results;
}

void
results_leave(List *outer)
{
	results = outer;
}

void
result_add(SubResult *result)
{
	result->number = list_length(results) + 1;
	results = lappend(results, result);
}

int
results_mark(void)
{
	return list_length(results);
}

void
results_forget(int mark)
{
	results = list_truncate(results, mark);
}

/* function(...) AS (columns of the query) */
List *
result_columns(Node *call, Query *query)
{
	RangeTblFunction *function = makeNode(RangeTblFunction);

	function->funcexpr = call;
	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		Node *expr = (Node *) entry->expr;

		if (entry->resjunk)
			continue;
		function->funccolcount++;
		function->funccolnames =
			lappend(function->funccolnames,
					makeString(entry->resname ? entry->resname : "column"));
		function->funccoltypes = lappend_oid(function->funccoltypes, exprType(expr));
		function->funccoltypmods =
			lappend_int(function->funccoltypmods, exprTypmod(expr));
		function->funccolcollations =
			lappend_oid(function->funccolcollations, exprCollation(expr));
	}
	return list_make1(function);
}

/* The constant that a call would read, NULL when it reads no result. */
static char *
read_of_call(Node *function)
{
	FuncExpr *call = (FuncExpr *) function;
	Const *name;

	if (!IsA(function, FuncExpr) || !call->funcretset || call->args == NIL ||
		list_length(call->args) > 2)
		return NULL;
	name = linitial(call->args);
	if (!IsA(name, Const) || name->consttype != TEXTOID || name->constisnull)
		return NULL;
	return TextDatumGetCString(name->constvalue);
}

SubResult *
result_of_call(Node *function)
{
	char *name = results != NIL ? read_of_call(function) : NULL;

	if (name == NULL)
		return NULL;
	foreach_ptr (SubResult, result, results)
	{
		if (strcmp(name, template_result_placeholder(result->number)) == 0)
			return result;
	}
	return NULL;
}

/* -1: it does not read a result of this scope that has a plan. */
double
result_read_rows(Node *function)
{
	SubResult *result = result_of_call(function);

	return result != NULL && result->plan != NULL ? result->plan->planTree->plan_rows
												  : -1;
}

/* While a trial is judged its results have no plans yet, so the name alone must do. */
bool
is_result_read(Node *function)
{
	char *name = read_of_call(function);

	if (name == NULL)
		return false;
	for (int number = 1; number <= list_length(results) + RESULT_CANDIDATES_MAX; number++)
	{
		if (strcmp(name, template_result_placeholder(number)) == 0)
			return true;
	}
	return false;
}

static bool
results_of_level(Query *level, void *context)
{
	List **found = context;

	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		foreach_ptr (RangeTblFunction, function, rte->functions)
		{
			SubResult *result = result_of_call(function->funcexpr);

			if (result != NULL)
				*found = list_append_unique_ptr(*found, result);
		}
	}
	return false;
}

List *
results_of_query(Query *query)
{
	List *found = NIL;

	if (results != NIL)
		(void) query_each_level(query, results_of_level, &found);
	return found;
}
