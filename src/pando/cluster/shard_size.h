/*
 * shard_size.h: how large shards are on disk.
 */
#ifndef PANDO_CLUSTER_SHARD_SIZE_H
#define PANDO_CLUSTER_SHARD_SIZE_H

#include "pando/compat/compat.h"
#include "fmgr.h"

#include "pando/metadata/table.h"

/* Called from the module's init: registers the setting. */
extern void shard_size_init(void);

/* The cost function of the strategy by_disk_size. */
extern Datum citus_shard_cost_by_disk_size(PG_FUNCTION_ARGS);

/*
 * Asks all nodes at once for the sizes of the tables' shards (Oid list; NIL: of all
 * tables), which shard_size() then knows until the current memory context goes. Those
 * that are not told, or not soon, are asked for when they are wanted.
 */
extern void shard_sizes_ask(List *tables);

/* Bytes of a shard, with indexes and TOAST, on the node of its first placement; 0 if it
 * has none. The shard is not locked. */
extern int64 shard_size(const DistTable *table, int index);

#endif
