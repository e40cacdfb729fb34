/*
 * push_down.h: conditions of a level on what its subqueries put out, inside of these.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_PUSH_DOWN_H
#define PANDO_PLANNER_PUSH_DOWN_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Moves conditions on one subquery in FROM into it, where that leaves the rows as they
 * are, and gives it those that follow from the level's equalities. Outer joins whose
 * conditions above refuse what they add become what is left of them.
 */
extern void level_push_down(Query *query);

#endif
