/*
 * cut.h: parts of a query level as queries of their own, and fragments in their place.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_CUT_H
#define PANDO_PLANNER_CUT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Replaces in the level's FROM each group of items that can be evaluated on the shards by
 * a fragment with the qualifications that belong to it; all references are redirected.
 */
extern void level_cut_from(Query *query);

/*
 * Makes a fragment of one table of the level, as it is on another node; all references to
 * it are redirected, places of its rows included. WHERE stays whole.
 */
extern void level_cut_table(Query *query, Index varno);

/* Are there policies of the table that nodes can't evaluate? */
extern bool policies_are_for_here(Query *query, Index varno);

/*
 * A table with policies becomes a subquery that filters by them, a security barrier, so
 * that it can be cut inside; false if it can't be, or has none.
 */
extern bool level_put_barrier(Query *query, Index varno);

/* Makes one fragment of all of the level's FROM and WHERE, which must be fit for it. */
extern void level_cut_whole(Query *query);

/* The same, except that qualifications with sublinks that don't fit stay. */
extern void level_cut_joined(Query *query);

#endif
