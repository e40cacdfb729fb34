/*
 * placement.h: rows of pg_dist_placement.
 *
 * Every change invalidates what backends cached about the table of the placement's shard,
 * so the shard's row must be there when a placement is inserted and until it is deleted.
 */
#ifndef PANDO_CATALOG_PLACEMENT_H
#define PANDO_CATALOG_PLACEMENT_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#define PLACEMENT_ACTIVE 1
#define PLACEMENT_LOST 3 /* a write went on without it */

typedef struct PlacementRow
{
	int64 placementid;
	int64 shardid;
	int32 shardstate;
	int64 shardlength;
	int32 groupid;
} PlacementRow;

extern int64 catalog_placement_next_id(void);

extern PlacementRow *catalog_placement_by_id(int64 placementid);
extern List *catalog_placement_by_shard(int64 shardid);

/* What tells whether two nodes know the same placements of a group. */
extern int64 catalog_placement_fingerprint(int32 groupid);

/* Of many shards, whose ids ascend; in order of shard and group. */
extern List *catalog_placement_by_shards(const int64 *shardids, int count);

extern void catalog_placement_insert(const PlacementRow *row);
extern bool catalog_placement_update(const PlacementRow *row);
extern bool catalog_placement_delete(int64 placementid);
extern int catalog_placement_delete_by_shard(int64 shardid);

#endif
