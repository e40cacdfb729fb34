/*
 * node_sync.h: everything that a member of the cluster has, brought to a node.
 */
#ifndef PANDO_CLUSTER_NODE_SYNC_H
#define PANDO_CLUSTER_NODE_SYNC_H

#include "pando/compat/compat.h"
#include "pando/metadata/node.h"

/*
 * Makes the node, which has its row in pg_dist_node here, a full member in this
 * transaction: identity of the cluster, objects, shell tables, metadata, copies of
 * reference tables. What it has already stays as it is, so a member can be synchronised
 * again. With `first_time` a table of the same name on the node is an error instead. With
 * `online` reference tables are written to while they are copied, which others have to be
 * able to see (group_copy_hidden()). The caller holds node_rows_lock(ExclusiveLock).
 */
extern void node_sync(const DistNode *node, bool first_time, bool online);

/* What empties the metadata of a server of its tables. */
#define NODE_METADATA_CLEAR                                                              \
	"SELECT pando.metadata_changed(); "                                                  \
	"DELETE FROM pg_catalog.pg_dist_placement; DELETE FROM pg_catalog.pg_dist_shard; "   \
	"DELETE FROM pg_catalog.pg_dist_partition; DELETE FROM pando.distribution; DELETE "  \
	"FROM pg_catalog.pg_dist_schema; DELETE FROM pando.distributed_schema; "             \
	"DELETE FROM pg_catalog.pg_dist_colocation; DELETE FROM pando.colocation_private; "  \
	"DELETE FROM pg_catalog.pg_dist_authinfo; DELETE FROM pg_catalog.pg_dist_poolinfo"

/*
 * Waits for statements that use the node's placements and keeps new ones out, to the end
 * of the transaction; to be called before they are forgotten. `reachable`: the node takes
 * part.
 */
extern void node_lock_for_leaving(const DistNode *node, bool reachable);

/* The same; who uses the tables has so long to end, and is ended then. */
extern void node_lock_by_force(const DistNode *node, bool reachable, int cooldown_ms);

/* Backends, on all nodes but that one, that are writing to tables with placements there
 * have so long to end, and are ended then. */
extern void node_end_writers(const DistNode *node, int cooldown_ms);

/* Makes the node forget the cluster: drops its shards, shell tables and metadata. */
extern void node_forget(const DistNode *node);

/* Unregisters the placements of a group, here and on all active nodes; the shards'
 * relations are left alone. */
extern void node_forget_placements(int32 group);

/* Drops the relations of all shards that have a placement on this node. */
extern void node_drop_shards_here(void);

/*
 * Raises object_in_use if the group holds the only active placement of a shard of a table
 * that is not a reference table. `what` is the verb for the message.
 */
extern void node_require_no_only_placement(const DistNode *node, const char *what);

#endif
