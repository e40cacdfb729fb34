/*
 * range.h: which shard of a table that is split by ranges holds a value.
 *
 * The ranges are those of pg_dist_shard, text in the form of the distribution column's
 * type. It is read the same on every node and in every session: with ISO dates, in the
 * time zone UTC, without a search_path.
 */
#ifndef PANDO_METADATA_RANGE_H
#define PANDO_METADATA_RANGE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/metadata/table.h"

/*
 * Reads the ranges of the table's shards (rows: List of ShardRow *) in the current memory
 * context, and puts the shards in their order; those whose range is unknown are the last.
 * The key is known, the shards are in order of their ids. Raises, and names the shard, if
 * a bound is no value of the type.
 */
extern void range_map_load(DistTable *table, List *rows);

/* Does each shard have a range, and none one that overlaps another's? */
extern bool range_map_is_whole(const DistTable *table);

/* Raises invalid_object_definition if two ranges overlap. */
extern void range_map_check(const DistTable *table);

/* Is the value in the range of the shard with that index? In an unknown one it is. */
extern bool range_map_holds(const DistTable *table, int index, Datum value);

/* Index of the shard that holds the value; -1: none. */
extern int range_map_find(const DistTable *table, Datum value);

#endif
