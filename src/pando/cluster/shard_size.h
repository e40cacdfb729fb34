/*
 * shard_size.h: how large shards are on disk.
 */
#ifndef PANDO_CLUSTER_SHARD_SIZE_H
#define PANDO_CLUSTER_SHARD_SIZE_H

#include "pando/compat/compat.h"

#include "pando/metadata/table.h"

/* Called from the module's init: registers the setting. */
extern void shard_size_init(void);

/* Bytes of a shard, with indexes and TOAST, on the node of its first placement; 0 if it
 * has none. The shard is not locked. */
extern int64 shard_size(const DistTable *table, int index);

#endif
