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

/*
 * Moves or copies the placements on `source` of the shard and all those colocated with
 * it, in this transaction; readers go on until the switch, writers wait. Checks rights
 * and arguments.
 */
extern void shard_group_move(int64 shard_id, const DistNode *source,
							 const DistNode *target, MoveKind kind);

/* Tables whose shards move together with the table's, parents before partitions (Oid
 * list). */
extern List *shard_group_tables(const DistTable *table);

/* Order of a list of tables' OIDs: parents before their partitions, then by OID. */
extern int table_depth_cmp(const ListCell *a, const ListCell *b);

/* Raises for transfer modes that there is no way for yet; the argument of the SQL
 * functions. */
extern void transfer_mode_check(Oid mode);

#endif
