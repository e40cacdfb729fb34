/*
 * transfer.h: the rows of a shard from one node to another.
 */
#ifndef PANDO_CLUSTER_TRANSFER_H
#define PANDO_CLUSTER_TRANSFER_H

#include "pando/compat/compat.h"

#include "pando/metadata/node.h"

/*
 * Copies all rows of the shard of a table on `source` into the relation of the same name
 * on `target`, in the transaction. Nobody else may write to the shard meanwhile. Either
 * node may be this one.
 */
extern void shard_transfer(Oid relid, int64 shard_id, const DistNode *source,
						   const DistNode *target);

#endif
