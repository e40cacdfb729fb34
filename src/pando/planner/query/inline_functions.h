/*
 * inline_functions.h: set-returning SQL functions in FROM, as the queries that they are.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_INLINE_FUNCTIONS_H
#define PANDO_PLANNER_INLINE_FUNCTIONS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"

/*
 * A copy of the query in which all that PostgreSQL would inline in FROM is a subquery.
 * `glob` gets what a plan of it depends on.
 */
extern Query *query_with_inlined_functions(Query *query, PlannerGlobal *glob);

#endif
