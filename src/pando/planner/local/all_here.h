/*
 * all_here.h: queries whose shards are all on this node, planned by PostgreSQL.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_ALL_HERE_H
#define PANDO_PLANNER_ALL_HERE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* False: a shard is elsewhere; true: worth a closer look. */
extern bool query_may_be_all_here(const Query *query);

/*
 * Puts this node's tables in the place of all distributed ones, in place: a shard, or the
 * UNION ALL of those that the query's filters leave. False if a shard that is needed is
 * not only here, or something in the query tells a shard from its table; the query must
 * not be used then.
 */
extern bool query_use_all_here(Query *query);

#endif
