/*
 * node_lock.h: locks on shell tables over the whole cluster.
 */
#ifndef PANDO_CLUSTER_NODE_LOCK_H
#define PANDO_CLUSTER_NODE_LOCK_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "pando/metadata/node.h"
#include "storage/lockdefs.h"

/*
 * Keeps schema changes and shard moves, not reads and writes, out of all distributed
 * tables. Returns those that are there then (Oid list, in order of OID).
 */
extern List *node_lock_definitions(void);

/*
 * Locks the tables (Oid list) here, in order of name, and then on all other nodes but
 * `except` (may be NULL). ExclusiveLock keeps writers out, AccessExclusiveLock everybody.
 * The same order everywhere, so that two who lock the same tables meet on this node.
 */
extern void node_lock_tables_everywhere(List *relids, LOCKMODE mode,
										const DistNode *except);

#endif
