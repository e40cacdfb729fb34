/*
 * result_scope.h: intermediate results of one residual, and what reads them in a query.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_RESULT_SCOPE_H
#define PANDO_PLANNER_RESULT_SCOPE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "pando/plan/fragment.h"

/* Subqueries of a level that are tried as results at a time: trials cost an analysis
 * each. */
#define RESULT_CANDIDATES_MAX 16

/*
 * A scope for the results of one residual: what enter returns is given to leave. The
 * scope that planning starts in is to be left to after an error.
 */
extern List *results_enter(void);
extern List *results_scope(void);
extern void results_leave(List *outer);

/* The FROM functions list of a call that yields a query's columns. */
extern List *result_columns(Node *call, Query *query);

/* The result of the scope that a function call reads, NULL: none. */
extern SubResult *result_of_call(Node *function);

/* Adds a result, which gets the next number; one that is not needed after all, and all
 * after it, is forgotten again. */
extern void result_add(SubResult *result);
extern int results_mark(void);
extern void results_forget(int mark);

/* Is it a read of a result of this scope, which fragment_from_query() callers must add?
 */
extern bool is_result_read(Node *function);

/* Rows that a read of a result of this scope is expected to give; -1 for other calls. */
extern double result_read_rows(Node *function);

/* SubResults that the query reads, in the order to run them. */
extern List *results_of_query(Query *query);

#endif
