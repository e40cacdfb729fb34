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
#include "pando/planner/where/place.h"

/* The FROM item for a cut whose data is a Move: reads a new exchange of its part. */
extern RangeTblEntry *exchange_of_cut(Cut *cut);

/*
 * The FROM item that reads a new exchange of the query, by the hash of that output column
 * to the shard groups of the place, or (0) to all nodes; keep_nulls: so do rows without a
 * value, else they are left out.
 */
extern RangeTblEntry *exchange_of_query(Query *query, int column, bool keep_nulls,
										const Place *place);

/* Plans those that the query reads, and those that these read, as far as not done yet. */
extern void exchange_plan_all(Query *query);

#endif
