/*
 * split_aggregates.h: grouping in two phases: partial on the shards, final here.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SPLIT_AGGREGATES_H
#define PANDO_PLANNER_SPLIT_AGGREGATES_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* Aggregation split between shards and residual; false if the level isn't fit for it. */
extern bool level_split_aggregates(Query *query);

#endif
