/*
 * hoist.h: the order that a level inherits from its only subquery.
 */
#ifndef PANDO_PLANNER_HOIST_H
#define PANDO_PLANNER_HOIST_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Where a level's rows are those of one ordered subquery, in its order, the level asks
 * for that order itself, in place. Returns true if something changed.
 */
extern bool level_hoist_order(Query *query);

#endif
