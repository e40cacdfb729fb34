/*
 * carried.h: columns that one query takes from another, which it reads as a FROM item.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_CARRIED_H
#define PANDO_PLANNER_CARRIED_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

typedef struct Carried
{
	Index varno; /* of the FROM item that yields them */
	Index kept;	 /* of a relation whose columns stay as they are; 0: of none */
	List *exprs; /* what they are in the other query, by number of the column */
	Index depth; /* while a sublink's query is looked at */
} Carried;

/*
 * A copy of the expression in which the columns of its own level, also in the queries of
 * sublinks, are those of the FROM item, which gets what it lacks of them.
 */
extern Node *carried_columns(Node *expr, Carried *carried);

/* Expressions as a target list. */
extern List *columns_of(List *exprs);

#endif
