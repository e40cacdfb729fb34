/*
 * online_move.h: filling the copies of an online move while the shards are written to.
 */
#ifndef PANDO_CLUSTER_ONLINE_MOVE_H
#define PANDO_CLUSTER_ONLINE_MOVE_H

#include "pando/compat/compat.h"

#include "pando/cluster/group_copy.h"
#include "pando/remote/session.h"

/* ARRAY[tables]::regclass[], '{shard ids}' of a target, as functions take them. */
extern char *group_arrays(List *members, const CopyTarget *target);

/* A session of the current user to the node, outside of the transaction; the caller
 * closes it. */
extern Session *online_move_session(const DistNode *node);

/*
 * The steps, in this order. The shells are locked against schema changes on all nodes.
 * What `copy` points to stays as it is.
 */
extern OnlineMove *online_move_begin(const GroupCopy *copy);

/* Copies as of one moment, with all but foreign keys; later changes are noted. */
extern void online_move_fill(OnlineMove *move);

/* Copies changes of all of the moves until few come while that is done; raises if that is
 * never so. */
extern void online_move_catch_up(List *moves);

/* The last changes: writers are locked out. The copies are complete then. */
extern void online_move_finish(OnlineMove *move);

/*
 * Moves of one transaction share sessions, which last as long as it does. After an error
 * those that are in the middle of something are closed. Neither raises.
 */
extern void online_move_close_broken(void);
extern void online_move_close_sessions(void);

/* Joins what was made to the transaction: its commit lets it stay. */
extern void online_move_settle(OnlineMove *move);

#endif
