/*
 * exchange.h: rows of FROM items that go where other rows are.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_EXCHANGE_H
#define PANDO_PLANNER_EXCHANGE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/planner/residual/cutting.h"

/* The FROM item for a cut whose data is a Move: reads a new exchange of its part. */
extern RangeTblEntry *exchange_of_cut(Cut *cut);

/* Plans those that the query reads, and those that these read, as far as not done yet. */
extern void exchange_plan_all(Query *query);

#endif
