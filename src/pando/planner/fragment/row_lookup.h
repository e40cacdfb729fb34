/*
 * row_lookup.h: rows that come from elsewhere, looked up by an outer query's values.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_ROW_LOOKUP_H
#define PANDO_PLANNER_ROW_LOOKUP_H

#include "pando/compat/compat.h"
#include "nodes/pathnodes.h"

/* Gives the item's path one above it that looks its rows up, where filters let it. */
extern void row_lookup_offer(PlannerInfo *root, RelOptInfo *rel);

#endif
