/*
 * lock_query.h: which levels of a query lock rows, and of which tables.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_LOCK_QUERY_H
#define PANDO_PLANNER_LOCK_QUERY_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/metadata/table.h"

/* The table of an entry that is on shards or a reference table; NULL: it is neither. */
extern const DistTable *distributed_table(const RangeTblEntry *rte);

/* Does a level lock rows of reference tables whose first copy is on another node? */
extern bool query_locks_elsewhere(Query *query);

/* Does this level itself lock rows of a reference table? */
extern bool level_locks_reference(Query *query);

#endif
