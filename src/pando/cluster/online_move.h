/*
 * online_move.h: filling the copies of an online move while the shards are written to.
 */
#ifndef PANDO_CLUSTER_ONLINE_MOVE_H
#define PANDO_CLUSTER_ONLINE_MOVE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/cluster/move.h"
#include "pando/metadata/node.h"

typedef struct OnlineMove OnlineMove;

/*
 * The steps for the members (List of MoveMember *) of a group, in this order. The shells
 * are locked against schema changes on all nodes. `shard_id` names the move in
 * get_rebalance_progress().
 */
extern OnlineMove *online_move_begin(List *members, int64 shard_id,
									 const DistNode *source, const DistNode *target);

/* Copies as of one moment, with all but foreign keys; later changes are noted. */
extern void online_move_fill(OnlineMove *move);

/* Copies changes until few come while that is done, or it is of no more use. */
extern void online_move_catch_up(OnlineMove *move);

/* The last changes: writers are locked out. The copies are complete then. */
extern void online_move_finish(OnlineMove *move);

/* Closes the sessions; after an error, too. Never raises. */
extern void online_move_close(OnlineMove *move);

/* Joins what was made to the transaction: its commit lets it stay. */
extern void online_move_settle(OnlineMove *move);

#endif
