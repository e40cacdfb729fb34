/*
 * move_part.h: what an online move makes on the nodes: half-filled copies of shards, and
 * triggers that capture changes.
 */
#ifndef PANDO_CLUSTER_MOVE_PART_H
#define PANDO_CLUSTER_MOVE_PART_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

/*
 * Tables of the session that receives the shard's rows: two take them in, all of them or
 * those that changed, and two say where each went: by block, and by place. They are
 * temporary, or, in a transaction that is going to be prepared, which could not have
 * temporary ones, in a schema that all see. Names, qualified and quoted.
 */
#define MOVE_SCHEMA_TEMPORARY "pg_temp"
#define MOVE_SCHEMA_SHARED "pando"

extern char *move_all_rows_name(const char *schema, int64 shard_id);
extern char *move_rows_name(const char *schema, int64 shard_id);
extern char *move_blocks_name(const char *schema, int64 shard_id);
extern char *move_places_name(const char *schema, int64 shard_id);

/* The shards (int64 *) on these nodes are no parts of a move any more. */
extern void move_parts_end(List *shards, List *nodes);

/* Is the relation a copy that a move is about to fill here? */
extern bool move_part_receives(Oid relation);

/* What all of their names begin with. */
#define MOVE_TABLE_PREFIX "pando_"

/* Registers how rows are received (move_row.c). */
extern void move_row_init(void);

#endif
