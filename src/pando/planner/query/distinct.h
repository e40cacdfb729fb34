/*
 * distinct.h: a query whose rows matter once each.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_DISTINCT_H
#define PANDO_PLANNER_DISTINCT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Gives the query a DISTINCT, in place, for who asks only whether a row is among its
 * rows. Nothing happens where that can't be added, or would change what is asked.
 */
extern void query_make_distinct(Query *query);

#endif
