/*
 * tie.h: the equalities that tie a correlated sublink to its rows.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_TIE_H
#define PANDO_PLANNER_TIE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* inner = outer, from the sublink's WHERE. */
typedef struct Tie
{
	OpExpr *equality; /* as it was written */
	Node *inner;
	Node *outer; /* as the outer level sees it */
	bool inner_first;
} Tie;

/* Does only its WHERE tell which rows the SELECT is of, or its aggregates are over? */
extern bool is_tied_by_where(const Query *query);

/* Takes the ties out of the query's WHERE; NIL if it is tied in another way, too. */
extern List *ties_take(Query *query);

/* The FROM item of the outer level that has all of the ties' columns; 0: there are
 * several. */
extern int ties_varno(List *ties);

/* inner = outer in the order in which the operator wants them. */
extern Expr *tie_with(const Tie *tie, Node *inner, Node *outer);

/*
 * The value against the query's column of that number, as a test of ANY, which wants the
 * value at the left. NULL: the operator has no form for that.
 */
extern Node *tie_test(const Tie *tie, Node *value, int number, Node *column,
					  bool value_is_inner);

/* left op ANY (SELECT ...), of the tests of all columns. */
extern Node *any_sublink(List *tests, Query *query);

/* Is the inner side the first column of an index of the query's table? */
extern bool tie_is_indexed(Query *query, const Tie *tie);

/* The tie by which the query's rows are looked up; NULL: they had to be read in full. */
extern Tie *tie_of_lookup(Query *query, List *ties);

#endif
