/*
 * exchange_level.h: levels that are made fit to be evaluated on the shards.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_EXCHANGE_LEVEL_H
#define PANDO_PLANNER_EXCHANGE_LEVEL_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Makes the level's FROM fit to be evaluated on the shards, in place, by exchanges of
 * groups of its items. False, and nothing changed, if it fits already or can't be made to
 * fit, or gathering its parts is cheaper.
 */
extern bool level_exchange(Query *query);

#endif
