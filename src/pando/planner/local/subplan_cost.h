/*
 * subplan_cost.h: what a plan costs that evaluates subplans for its rows.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SUBPLAN_COST_H
#define PANDO_PLANNER_SUBPLAN_COST_H

#include "pando/compat/compat.h"
#include "nodes/plannodes.h"

/* The plan's total cost when its subplans find in memory what they look up, in
 * PostgreSQL's units. */
extern Cost cost_of_lookups_in_memory(Plan *plan);

#endif
