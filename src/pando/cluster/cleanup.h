/*
 * cleanup.h: what a move makes outside of its transaction, recorded in pg_dist_cleanup,
 * and its removal once the move is no more.
 */
#ifndef PANDO_CLUSTER_CLEANUP_H
#define PANDO_CLUSTER_CLEANUP_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/metadata/node.h"

/* What an operation may make on a node: the shard's table, or something on it. */
typedef struct CleanupPart
{
	Oid relid;		/* the shell */
	int64 shard_id; /* may be one that is to be */
	int32 group;	/* of the node */
} CleanupPart;

/*
 * Begins an operation: it is under way until the transaction ends. Its parts (List of
 * CleanupPart *) are recorded, in a transaction that is committed when this returns.
 * Returns the operation's id.
 */
extern int64 cleanup_begin(List *parts);

/* The transaction's end decides: if it commits, there is nothing to take away. */
extern void cleanup_end(int64 operation);

/* Waits until nothing is left of earlier operations on the shards; raises object_in_use
 * when that takes longer than a node that can be reached should need. */
extern void cleanup_await(List *shards);

/* Registers the maintenance job; called from cluster_init only. */
extern void cleanup_init(void);

#endif
