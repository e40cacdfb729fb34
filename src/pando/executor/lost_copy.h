/*
 * lost_copy.h: what becomes of the copies of a shard whose node can't be reached.
 *
 * The rule: a write whose node can't be reached when the write begins leaves that node's
 * copies out and marks them (pg_dist_placement.shardstate 3), in the same transaction:
 * either the write and the mark are there on all other nodes or neither. One copy at
 * least must be reached. A node that is lost later than that makes the transaction fail.
 */
#ifndef PANDO_EXECUTOR_LOST_COPY_H
#define PANDO_EXECUTOR_LOST_COPY_H

#include "pando/compat/compat.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "pando/metadata/table.h"

/*
 * Before a write to these shards of the table: marks the copies that can't be reached,
 * and those of the tables colocated with it. Returns the groups of their nodes as a list
 * of int: they are to be left out. Waits until the other nodes are connected.
 */
extern List *lost_copies_mark(const DistTable *table, const Bitmapset *indexes);

/*
 * Before copies of the table are chosen: raises if this node may not know which of them
 * are lost.
 */
extern void lost_copies_known(const DistTable *table);

#endif
