/*
 * distribute.h: the second and third step: cutting a SELECT into fragments and a
 * residual.
 */
#ifndef PANDO_PLANNER_DISTRIBUTE_H
#define PANDO_PLANNER_DISTRIBUTE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * A copy of the query in which each maximal part that can run whole on the shards is
 * replaced by a fragment's RTE (fragment_rte). The result touches no shard by itself and
 * means the same. Raises feature_not_supported naming the construct it can't cut yet.
 */
extern Query *distribute_query(Query *query);

#endif
