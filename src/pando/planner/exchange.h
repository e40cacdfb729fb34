/*
 * exchange.h: FROM items whose rows go where the others are.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_EXCHANGE_H
#define PANDO_PLANNER_EXCHANGE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/planner/place.h"

/*
 * Makes the level's FROM fit to be evaluated on the shards, in place, by exchanges of
 * groups of its items. False, and nothing changed, if it fits already or can't be made to
 * fit, or gathering its parts is cheaper.
 */
extern bool level_exchange(Query *query);

/* The place of a FROM item that reads an exchange; NULL: it doesn't. */
extern Place *exchange_place(RangeTblEntry *rte, Index varno);

/* Puts the subqueries themselves where exchanges of them are read, in place: for
 * estimates. */
extern void exchange_expand(Query *query);

/* Defines the settings; once, when the library is loaded. */
extern void exchange_init(void);

#endif
