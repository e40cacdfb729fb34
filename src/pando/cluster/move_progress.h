/*
 * move_progress.h: what get_rebalance_progress() shows of moves under way.
 *
 * In shared memory, for other backends do not see an open transaction's rows.
 */
#ifndef PANDO_CLUSTER_MOVE_PROGRESS_H
#define PANDO_CLUSTER_MOVE_PROGRESS_H

#include "pando/compat/compat.h"
#include "access/xlogdefs.h"

#include "pando/cluster/move.h"
#include "pando/metadata/node.h"

typedef enum MoveStep
{
	MOVE_NOT_STARTED,
	MOVE_SETTING_UP,
	MOVE_COPYING_DATA,
	MOVE_CREATING_CONSTRAINTS,
	MOVE_CATCHING_UP,
	MOVE_COMPLETED
} MoveStep;

/* Announces a move of this backend; nothing if it is known already, or the table is full.
 */
extern void move_progress_add(int64 shard_id, const DistNode *source,
							  const DistNode *target, MoveKind kind);

/* Takes the announcement back: another session makes the move. */
extern void move_progress_forget(int64 shard_id);

/* Tells how far the announced move has come. Ends with the transaction. */
extern void move_progress_set(int64 shard_id, MoveStep step);

/* The same of the move that was last told of: a row of so many bytes has come to a
 * target; the targets are as of that place in the source's WAL. */
extern void move_progress_row(int bytes);
extern void move_progress_caught_up(XLogRecPtr lsn);

/* Requests shared memory; called from cluster_init only. */
extern void move_progress_init(void);

#endif
