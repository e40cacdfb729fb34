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

/*
 * The same for what a level with references to outer ones joins, which becomes a subquery
 * of the level; where that is fewer bytes than what it is joined of. What is compared
 * with outer rows stays.
 */
extern bool level_exchange_joined(Query *query);

#endif
