/*
 * with_writes.h: data-modifying statements in WITH that change other shard groups than
 * the statement reads.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_WITH_WRITES_H
#define PANDO_PLANNER_WITH_WRITES_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * A copy of the statement in which each WITH query that changes a distributed table is a
 * fragment's rows, and which reads all of them before anything else. Raises
 * feature_not_supported where PostgreSQL's result could differ.
 */
extern Query *with_writes_replace(Query *query);

#endif
