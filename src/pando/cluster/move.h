/*
 * move.h: moving and copying shard groups between nodes.
 */
#ifndef PANDO_CLUSTER_MOVE_H
#define PANDO_CLUSTER_MOVE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/cluster/group_copy.h"
#include "pando/metadata/node.h"

typedef enum MoveKind
{
	MOVE_PLACEMENT, /* the source's placements go away */
	COPY_PLACEMENT, /* the target gets one more of each shard */
	SPLIT_PLACEMENT /* several shards take over its rows (split.c) */
} MoveKind;

/*
 * Moves or copies the placements on `source` of the shard and all those colocated with
 * it; readers go on until the switch. Checks rights and arguments.
 */
extern void shard_group_move(int64 shard_id, const DistNode *source,
							 const DistNode *target, MoveKind kind, TransferMode mode);

/* The same for one more copy on each of the targets (const DistNode *). */
extern void shard_group_copy(int64 shard_id, const DistNode *source, List *targets,
							 TransferMode mode);

/*
 * Gives a node that joins in this transaction, and has the shells, a copy of each
 * reference table that it has none of. `online`: they are written to meanwhile, where
 * nothing stands in the way.
 */
extern void reference_tables_bring(const DistNode *node, bool online);

#endif
