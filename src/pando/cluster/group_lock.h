/*
 * group_lock.h: locks on the shell tables of a shard group, on all nodes, and on its
 * shards.
 */
#ifndef PANDO_CLUSTER_GROUP_LOCK_H
#define PANDO_CLUSTER_GROUP_LOCK_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "datatype/timestamp.h"
#include "storage/lockdefs.h"

#include "pando/metadata/node.h"

/* Locks the shell tables (Oid list) on the coordinator, here and then on all other nodes,
 * to the end of the transaction. SHARE UPDATE EXCLUSIVE, EXCLUSIVE or ACCESS EXCLUSIVE.
 */
extern void group_lock(List *tables, LOCKMODE mode);

/* The same here alone, for tables that no other node has. */
extern void group_lock_here(List *tables, LOCKMODE mode);

/* Keeps all others from choosing a colocation group, to the end of the transaction. */
extern void group_lock_colocation(void);

/*
 * Locks tables of one node (names, List of char *), in the mode of LOCK TABLE with that
 * name, to the end of the transaction. Whoever holds the shells in EXCLUSIVE mode has all
 * clients wait, but not what clients that are gone have left prepared on a node: that
 * holds locks on shards alone. SHARE on these waits until it is settled; who reads the
 * rows before that would miss what it wrote.
 */
extern void group_lock_on_node(const DistNode *node, List *names, const char *mode);

/* How long a move may wait for locks while others have their turn: lock_timeout, or
 * `otherwise` (ms) if that is not set; until when that is. */
extern TimestampTz group_lock_patience(long otherwise);

/* Raises lock_not_available, naming who holds a lock on one of the tables. */
extern void group_lock_raise(List *tables) pg_attribute_noreturn();

/* Runs step(arg) in a subtransaction; false: a lock could not be had soon, and all that
 * it did is undone. */
extern bool group_lock_attempt(void (*step)(void *arg), void *arg);

/*
 * Runs step(arg), which takes locks on the tables with group_lock(), in a subtransaction.
 * If they can't be had soon, all that it did in the transaction is undone, so that those
 * who wait for this one go on; others get a turn; prepare(arg) is run, without such
 * locks; and so again, until it succeeds. Raises lock_not_available, naming a holder,
 * when that takes longer than lock_timeout, or some minutes if that is not set.
 */
extern void group_lock_for(List *tables, void (*prepare)(void *arg),
						   void (*step)(void *arg), void *arg);

#endif
