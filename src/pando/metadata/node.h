/*
 * node.h: the nodes of the cluster, cached from pg_dist_node, pg_dist_local_group and
 * pg_dist_node_metadata.
 *
 * Pointers are valid until the end of the transaction.
 */
#ifndef PANDO_METADATA_NODE_H
#define PANDO_METADATA_NODE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "pando/catalog/node.h"

#define COORDINATOR_GROUP 0

typedef struct DistNode
{
	int32 id;	 /* pg_dist_node.nodeid */
	int32 group; /* 0 is the coordinator */
	char *host;
	int port;
	char *rack;
	bool has_metadata;
	bool active;
	bool primary; /* noderole is primary */
	bool unavailable;
	char *cluster;
	bool metadata_synced;
	bool should_have_shards;
	bool is_clone;
	int32 primary_id;
	bool listed; /* false: the coordinator, on itself, after it was removed as a node */
} DistNode;

typedef enum NodeFilter
{
	NODES_ALL,		  /* every active primary, this node included */
	NODES_LISTED,	  /* the same but for a coordinator that is not in pg_dist_node */
	NODES_OTHER,	  /* every active primary but this node */
	NODES_WORKERS,	  /* every active primary but the coordinator */
	NODES_WITH_SHARDS /* those that new shards go to: should_have_shards; the coordinator,
					   * if it is a node, when no node has it */
} NodeFilter;

/* List of const DistNode *, in order of group. */
extern List *node_list(NodeFilter filter);

/*
 * The primary of a group, or who stands in for it; raises when there is none. Nobody
 * stands in for this server's own group.
 */
extern const DistNode *node_by_group(int32 group);

/* Active secondaries of the group that belong to the cluster (List of const DistNode *).
 */
extern List *node_secondaries(int32 group, const char *cluster);

/* Gives the function that says who is to be found in a primary's place. */
extern void node_set_stand_in(const DistNode *(*stand_in)(const DistNode *primary));

/* Fills a node from its row, which goes on to own the strings. */
extern void node_from_row(DistNode *node, const NodeRow *row);

/* NULL when there is none. */
extern const DistNode *node_by_id(int32 id);
extern const DistNode *node_by_name(const char *host, int port);

/*
 * This server's group (0 also before any node was added), and itself as a node: its row,
 * or what stands for it on a coordinator that was removed as a node and goes on leading
 * the others. NULL when it is in no cluster.
 */
extern int32 node_local_group(void);
extern const DistNode *node_local(void);

/* Node id of this server for global pids: its pg_dist_node.nodeid, 0 while it has none.
 */
extern int32 node_local_id(void);

/* citus.local_hostname */
extern char *node_local_hostname;

/* What all nodes of this cluster, and no other's, have in common. */
extern const char *node_server_id(void);

extern bool node_is_coordinator(void);

/*
 * Raises feature_not_supported "operation is not allowed on this node" with the hint to
 * connect to the coordinator, on any other node.
 */
extern void node_require_coordinator(void);

/* Raises object_not_in_prerequisite_state on a coordinator that was removed as a node. */
extern void node_require_listed_coordinator(void);

/* Makes every backend of this server reload its nodes. */
extern void node_invalidate(void);

#endif
