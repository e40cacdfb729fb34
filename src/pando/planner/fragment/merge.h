/*
 * merge.h: are tasks of one node better one query over all of their shards?
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_MERGE_H
#define PANDO_PLANNER_MERGE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * For a SELECT that is evaluated on each shard group for itself. The rows are the same
 * either way: what is right for any number of shards is right for fewer, larger ones.
 */
extern bool merge_is_better(Query *query);

#endif
