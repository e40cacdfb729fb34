/*
 * group_copy.h: copies of a shard group on other nodes: what moves and splits have in
 * common.
 */
#ifndef PANDO_CLUSTER_GROUP_COPY_H
#define PANDO_CLUSTER_GROUP_COPY_H

#include "pando/compat/compat.h"
#include "access/attnum.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"

#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

/* How (citus.shard_transfer_mode). */
typedef enum TransferMode
{
	TRANSFER_AUTO,	 /* online if this transaction can do it */
	TRANSFER_ONLINE, /* writers go on, but for a moment at the end; else an error */
	TRANSFER_BLOCKING
} TransferMode;

/* A value of the SQL type. */
extern TransferMode transfer_mode(Oid mode);

/* One table of the shard group. */
typedef struct GroupMember
{
	Oid relid;
	char *name; /* of the shell, qualified and quoted */
	int64 shard_id;
	int64 placement_id; /* on the source */
	bool has_rows;		/* it is not partitioned */
	AttrNumber key;		/* GroupCopy.local: the distribution column, if there is one */
} GroupMember;

/* Shards that get rows of the group. */
typedef struct CopyTarget
{
	const DistNode *node;
	List *shards;			/* int64 *, of the members in their order */
	const HashRange *range; /* of the rows; NULL: all */
} CopyTarget;

typedef struct GroupCopy
{
	List *tables;	/* the shells (Oid list), parents before partitions */
	List *members;	/* GroupMember * */
	int64 shard_id; /* one of theirs, for get_rebalance_progress() and messages */
	const DistNode *source;
	List *others;  /* more nodes that have the members' shards and will drop them, too
					* (const DistNode *) */
	List *targets; /* CopyTarget * */
	bool local;	   /* tables of this node alone, which is the source, become distributed:
					* the shells have the rows, and no metadata know of them. Online only */
	bool joins;	   /* the target's node joins the cluster in this transaction: nobody else
					* sees it, and all that is made there is the transaction's own */
	bool locked;   /* its tables: what the transaction has done since is the copy's own */
} GroupCopy;

/* The nodes of the targets, each once (List of const DistNode *). */
extern List *group_copy_nodes(const GroupCopy *copy);

/* Who waits on a node for the switch goes to the targets then: they commit before it. */
extern void group_copy_commits_first(const GroupCopy *copy);

typedef struct OnlineMove OnlineMove; /* online_move.h */

typedef struct OnlineCopy
{
	const GroupCopy *copy;
	OnlineMove *move;
} OnlineCopy;

/* Tables whose shards move together with the table's, parents before partitions (Oid
 * list). */
extern List *shard_group_tables(const DistTable *table);

/* Order of a list of tables' OIDs: parents before their partitions, then by OID. */
extern int table_depth_cmp(const ListCell *a, const ListCell *b);

/* The active placement of the shard in a node group; NULL if there is none. */
extern const Placement *placement_on(const Shard *shard, int32 group);

/* The member of a group that is the table's shard with that index, on the source;
 * `placement` is there. */
extern GroupMember *group_member_of(const DistTable *table, int index,
									const Placement *placement);

/* Checks; each raises. */
extern const Shard *group_shard_require(int64 shard_id, const DistTable **table);
extern const DistNode *group_node_require(int32 id);
extern void group_check_owner(List *tables); /* and that no policy hides rows from him */
extern void group_check_node(const DistNode *node, const char *which);

/* Why the copy can't be an online one: its tables, and what the transaction has done so
 * far, locks on the coordinator included. NULL if it can. */
extern const char *group_copy_obstacle(List *members);
extern const char *group_copy_hidden(void);

/*
 * Will the copy be an online one? `obstacle`, if any, is why it can't; others are found
 * here. Raises if it must be one and can't.
 */
extern bool group_copy_online(const GroupCopy *copy, TransferMode mode,
							  const char *obstacle);

/*
 * Locks the copy's tables as group_lock() does: SHARE UPDATE EXCLUSIVE if it is `online`,
 * else EXCLUSIVE. False: the group has other tables by now, which are the copy's then:
 * one has joined it, or was dropped, while locks were waited for. They are to be looked
 * up and locked, too; nobody joins a group all of whose tables are locked.
 */
extern bool group_copy_lock(GroupCopy *copy, bool online);

/* Waits until nothing is left of earlier operations on the shards. */
extern void group_copy_await(const GroupCopy *copy);

/* Has this transaction locked one of the tables to change it, in that mode or a stronger
 * one, so that others may not see all of it? */
extern bool group_copy_changed_here(List *tables, LOCKMODE least);

/*
 * The two halves of an online copy. First all is filled, while others go on; the shells
 * are locked SHARE UPDATE EXCLUSIVE. Then the last changes come to all of the copies
 * (OnlineCopy *); the shells are locked in ACCESS EXCLUSIVE mode when it returns.
 */
extern OnlineMove *group_copy_prepare(const GroupCopy *copy);
extern void group_copy_switch(List *copies);

/*
 * Makes the targets' tables and fills them. The shells are locked (group_lock.h):
 * EXCLUSIVE, or SHARE UPDATE EXCLUSIVE for an online copy; when it returns, in ACCESS
 * EXCLUSIVE mode. Returns what group_copy_settle() needs; NULL unless online.
 */
extern OnlineMove *group_copy_fill(const GroupCopy *copy, bool online);

/* Drops the members' tables on the source and the others. */
extern void group_drop_source(const GroupCopy *copy);

/* Joins what was made outside of the transaction to it. */
extern void group_copy_settle(OnlineMove *online);

#endif
