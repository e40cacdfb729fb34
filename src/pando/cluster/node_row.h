/*
 * node_row.h: changing rows of pg_dist_node, the same on all nodes in one transaction.
 */
#ifndef PANDO_CLUSTER_NODE_ROW_H
#define PANDO_CLUSTER_NODE_ROW_H

#include "pando/compat/compat.h"
#include "pando/metadata/node.h"
#include "storage/lockdefs.h"

/* Roles as in the type noderole. */
#define NODE_ROLE_PRIMARY "primary"

/* A node as it stands in pg_dist_node, whatever its role and state. */
typedef struct ClusterNode
{
	DistNode node;
	char *role; /* label of noderole */
} ClusterNode;

/*
 * Locks the list of nodes to the end of the transaction. ExclusiveLock by whoever changes
 * it; RowShareLock by whoever creates something on all nodes, so that no node joins
 * half-way.
 */
extern void node_rows_lock(LOCKMODE mode);

/* The same on the coordinator first, for who has no other lock there yet. */
extern void node_rows_lead(LOCKMODE mode);

/* Raises unless the current user is a superuser. */
extern void node_rows_require_admin(void);

/* The row of host:port; NULL, or an error with `required`, when there is none. */
extern ClusterNode *node_row_find(const char *host, int port, bool required);
extern ClusterNode *node_row_find_id(int32 node_id);

/* The primary of a group; NULL when there is none. Unlike node_by_group() also an
 * inactive one. */
extern ClusterNode *node_row_find_primary(int32 group);

/* Adds a row on all nodes that are members now (not on the new one). Fills in node.id
 * and, if it is negative, node.group. */
extern void node_row_insert(ClusterNode *row);

/* Sets columns ("a = 1, b = 2") of a row on all active nodes. */
extern void node_row_update(int32 node_id, const char *assignments);

/* The same on all active nodes but that one itself, which may be out of reach. */
extern void node_row_update_except(int32 node_id, const char *assignments);

/*
 * Gives a node another address, on all active nodes; without `told` not on itself, which
 * can't take it in yet. It changes places with `other`, a node that has that address, if
 * there is one (else NULL).
 */
extern void node_row_move(const ClusterNode *row, const char *host, int port,
						  const ClusterNode *other, bool told);

/* Deletes a row on all active nodes that remain. */
extern void node_row_delete(int32 node_id);

/* Adds the coordinator itself (as citus.local_hostname) if there are no nodes yet. */
extern void node_row_ensure_coordinator(bool should_have_shards);

/* INSERT statement with all rows as this node has them; NULL when there are none. */
extern char *node_rows_insert_command(void);

/* Runs SQL as the extension's owner here, then as the session's user on all other nodes.
 */
extern void node_run_everywhere(const char *sql);

#endif
