/*
 * copies_here.h: this node's own shards and copies of reference tables as plain tables.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_COPIES_HERE_H
#define PANDO_PLANNER_COPIES_HERE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/metadata/table.h"

/*
 * Points each reference table that is read, and of which this node has an identical copy,
 * to that copy, in place. Permissions must be checked on the original's relations.
 * Returns false if a reference table remains that must be read elsewhere.
 */
extern bool query_use_local_copies(Query *query);

/*
 * The same for all distributed tables of a query that needs rows of one shard group of
 * `anchor`'s colocation group, and of reference tables.
 */
extern bool query_use_local_shards(Query *query, const DistTable *anchor, int index);

/* Has this node the copy of a reference table that every write changes first, identical?
 */
extern bool first_copy_is_here(const DistTable *table);

#endif
