/*
 * lookup_plan.h: plans for one row, which are the best whatever the constants are.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_LOOKUP_PLAN_H
#define PANDO_PLANNER_LOOKUP_PLAN_H

#include "pando/compat/compat.h"
#include "nodes/plannodes.h"

/*
 * Does the plan find its row by all columns of a unique index, or add the row of an
 * INSERT? Then other constants would not have given a better one.
 */
extern bool plan_is_lookup(const PlannedStmt *stmt);

#endif
