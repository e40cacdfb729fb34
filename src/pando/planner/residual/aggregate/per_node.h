/*
 * per_node.h: partial aggregates per node instead of per shard.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_PER_NODE_H
#define PANDO_PLANNER_PER_NODE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/planner/where/distribution.h"

/*
 * Partial aggregates as a fragment, in a FROM item (part_fragment_per_task()), which
 * nodes may compute over all of their tasks.
 */
extern RangeTblEntry *part_fragment_of_groups(Query *part,
											  const Distribution *distribution);

#endif
