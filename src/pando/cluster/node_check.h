/*
 * node_check.h: is a server fit to be a node of this cluster?
 */
#ifndef PANDO_CLUSTER_NODE_CHECK_H
#define PANDO_CLUSTER_NODE_CHECK_H

#include "pando/compat/compat.h"
#include "pando/metadata/node.h"

/*
 * Connects (in the transaction) and raises an error that names the node unless it can be
 * reached, runs the same PostgreSQL and extension versions, can prepare transactions, is
 * another server than this one and the other members, and belongs to no other cluster.
 * Returns whether it still has metadata of this very cluster, from an earlier membership.
 */
extern bool node_check_fitness(const DistNode *node);

/*
 * `node` with the address that it is to have: raises if that leads to this server or to
 * another member. One that can't be connected to is believed.
 */
extern void node_check_new_address(const DistNode *node);

/* Raises if the server, where it can be reached, is no streaming replica of the primary.
 */
extern void node_check_replica(const DistNode *replica, const DistNode *primary);

/* First column of the first row, over a session outside the transaction; NULL if that
 * can't be had. */
extern char *node_probe(const DistNode *node, const char *sql);

/* Can the address be connected to as the session's user? Outside the transaction, no
 * errors. */
extern bool node_is_reachable(const DistNode *node);

/* The same, and is the server one that accepts writes? */
extern bool node_accepts_writes(const DistNode *node);

#endif
