/*
 * either_exists.h: EXISTS below OR, as a test of values.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_EITHER_EXISTS_H
#define PANDO_PLANNER_EITHER_EXISTS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Has EXISTS and NOT EXISTS below OR in WHERE, of all levels, test whether the row's
 * values are among those of the subquery, in place. The rows stay the same. False:
 * nothing changed.
 */
extern bool query_exists_by_values(Query *query);

/* OR of EXISTS alone, all tied to the same values of the level, as one value IN (SELECT
 * ...), which may be NULL instead of false; NULL: it isn't that. */
extern Node *either_exists_as_any(Query *level, Node *qual);

#endif
