/*
 * transfer.h: the rows of a shard from one node to another.
 */
#ifndef PANDO_CLUSTER_TRANSFER_H
#define PANDO_CLUSTER_TRANSFER_H

#include "pando/compat/compat.h"

#include "pando/metadata/node.h"
#include "pando/remote/session.h"

/*
 * Copies all rows of the shard of a table on `source` into the relation of the same name
 * on `target`, in the transaction. Nobody else may write to the shard meanwhile. Either
 * node may be this one.
 */
extern void shard_transfer(Oid relid, int64 shard_id, const DistNode *source,
						   const DistNode *target);

/* Makes a session on the target able to receive rows of the shard with their places. */
extern void shard_transfer_prepare(Oid relid, int64 shard_id, Session *to);

/*
 * Copies rows of the shard, as the transaction of `from` sees them, with their places to
 * the session `to`, both in transactions of their own. places: NULL for all; else the
 * text of a tid[], and what was received from these places before is deleted first.
 */
extern void shard_transfer_placed(Oid relid, int64 shard_id, Session *from, Session *to,
								  const char *places);

#endif
