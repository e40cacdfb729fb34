/*
 * normal_form.h: a statement without its constants, to know it again with others.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_NORMAL_FORM_H
#define PANDO_PLANNER_NORMAL_FORM_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

#define NORMAL_CONSTANTS_MAX 64

typedef struct NormalForm
{
	uint64 hash; /* of the query as it is now */
	int count;
	Const constants[NORMAL_CONSTANTS_MAX];
	Node *nodes[NORMAL_CONSTANTS_MAX]; /* where they were */
	int numbers[NORMAL_CONSTANTS_MAX]; /* of the parameters that are there now */
	int stmt_len;
} NormalForm;

/*
 * Turns the constants of a statement that may come again into parameters, in place.
 * False, with nothing changed, if it is of a kind that is not worth it or where a
 * constant may mean more than its value.
 */
extern bool normal_form_take(Query *query, NormalForm *form);

/* The constants are back. */
extern void normal_form_restore(Query *query, const NormalForm *form);

/* The constants, Const *. */
extern List *normal_form_constants(const NormalForm *form);

/*
 * Numbers the parameters in a copy of the query so that they follow the client's own;
 * returns the number of the first constant's.
 */
extern int normal_form_number(Query *copy);

#endif
