/*
 * fragment_order.h: fragments whose rows come sorted.
 */
#ifndef PANDO_PLANNER_FRAGMENT_ORDER_H
#define PANDO_PLANNER_FRAGMENT_ORDER_H

#include "pando/compat/compat.h"
#include "nodes/pathnodes.h"

#include "pando/plan/fragment.h"

/* Sort clauses that give the fragment's rows, FROM item `relid`, the order of the
 * pathkeys; NIL where its columns can't. */
extern List *fragment_order_for(const Fragment *fragment, List *pathkeys, Index relid);

/* The fragment with its rows sorted; it shares all else with the one that is given. */
extern Fragment *fragment_ordered(const Fragment *fragment, List *order);

/* Adds what sorting and merging cost to the path's costs, which are those of the
 * unsorted rows. */
extern void fragment_order_cost(const Fragment *fragment, PlannerInfo *root,
								CustomPath *path);

#endif
