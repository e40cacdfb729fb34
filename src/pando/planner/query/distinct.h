/*
 * distinct.h: a query whose rows matter once each.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_DISTINCT_H
#define PANDO_PLANNER_DISTINCT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Gives the query a DISTINCT, in place, for who asks only whether a row is among its
 * rows. Nothing happens where that can't be added, or would change what is asked.
 */
extern void query_make_distinct(Query *query);

/*
 * DISTINCT over rows of FROM that pass WHERE: does it do without what they are more often
 * than once?
 */
extern bool query_is_set(const Query *query);

/* Are values of its columns that their collations call equal the same to any other test?
 */
extern bool query_is_deterministic(const Query *query);

#endif
