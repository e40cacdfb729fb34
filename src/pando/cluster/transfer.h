/*
 * transfer.h: the rows of a shard from one node to another.
 */
#ifndef PANDO_CLUSTER_TRANSFER_H
#define PANDO_CLUSTER_TRANSFER_H

#include "pando/compat/compat.h"

#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/remote/session.h"

/* Which rows of a shard go where. */
typedef struct TransferPart
{
	Oid relid;				/* the shell */
	int64 from_shard;		/* on the source */
	int64 to_shard;			/* on the target; its table is there */
	const HashRange *range; /* of what rows; NULL: all */
	bool local;				/* the shell has the rows, and is in no metadata yet */
	AttrNumber key;			/* its distribution column then, if there is one */
	const char *receivers;	/* shard_transfer_placed(): where the target's session has its
							 * tables for it, MOVE_SCHEMA_... (move_part.h) */
} TransferPart;

/*
 * Copies rows from `source` to `target`, in the transaction. Nobody else may write to the
 * shard meanwhile. Either node may be this one, and both the same for two shards.
 */
extern void shard_transfer(const TransferPart *part, const DistNode *source,
						   const DistNode *target);

/* Makes a session on the target able to receive rows of the shard with their places. */
extern void shard_transfer_prepare(const TransferPart *part, Session *to);

/*
 * Copies rows, as the transaction of `from` sees them, with their places to the session
 * `to`, both in transactions of their own. places: NULL for all; else the text of a
 * tid[], and what was received from these places before is deleted first.
 */
extern void shard_transfer_placed(const TransferPart *part, Session *from, Session *to,
								  const char *places);

#endif
