/*
 * move.h: moving and copying shard groups between nodes.
 */
#ifndef PANDO_CLUSTER_MOVE_H
#define PANDO_CLUSTER_MOVE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

typedef enum MoveKind
{
	MOVE_PLACEMENT, /* the source's placements go away */
	COPY_PLACEMENT	/* the target gets one more of each shard */
} MoveKind;

/* How (citus.shard_transfer_mode). */
typedef enum TransferMode
{
	TRANSFER_AUTO,	 /* online if this transaction can do it */
	TRANSFER_ONLINE, /* writers go on, but for a moment at the end; else an error */
	TRANSFER_BLOCKING
} TransferMode;

/* One table of the shard group that moves. */
typedef struct MoveMember
{
	Oid relid;
	char *name; /* of the shell, qualified and quoted */
	int64 shard_id;
	int64 placement_id; /* on the source */
	bool has_rows;		/* it is not partitioned */
} MoveMember;

/*
 * Moves or copies the placements on `source` of the shard and all those colocated with
 * it; readers go on until the switch. Checks rights and arguments.
 */
extern void shard_group_move(int64 shard_id, const DistNode *source,
							 const DistNode *target, MoveKind kind, TransferMode mode);

/* Tables whose shards move together with the table's, parents before partitions (Oid
 * list). */
extern List *shard_group_tables(const DistTable *table);

/* Order of a list of tables' OIDs: parents before their partitions, then by OID. */
extern int table_depth_cmp(const ListCell *a, const ListCell *b);

/* A mode of the SQL functions, for moves that share a transaction: they block writers. */
extern TransferMode transfer_mode_of_many(Oid mode);

#endif
