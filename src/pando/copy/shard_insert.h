/*
 * shard_insert.h: inserting rows into the shards that this very node holds.
 */
#ifndef PANDO_COPY_SHARD_INSERT_H
#define PANDO_COPY_SHARD_INSERT_H

#include "pando/compat/compat.h"
#include "executor/tuptable.h"
#include "utils/rel.h"

#include "pando/copy/line.h"
#include "pando/metadata/table.h"

typedef struct ShardInsert ShardInsert;

/*
 * Begins one insertion, a statement of its own to triggers, into local shards of the
 * table. The caller holds ROW EXCLUSIVE on the shell until the end of the transaction.
 * `line` is set to the line of each row for which an error is raised.
 */
extern ShardInsert *shard_insert_begin(const DistTable *table, Relation shell,
									   CopyLine *line);

/* Queues a row in the shell's shape (copied) for the shard with that index. */
extern void shard_insert_row(ShardInsert *insert, int shard_index, TupleTableSlot *row);

/* Writes what is queued, fires AFTER triggers, closes the shards; returns the rows
 * inserted. */
extern uint64 shard_insert_end(ShardInsert *insert);

/* Defines citus.local_copy_flush_threshold. */
extern void shard_insert_init(void);

#endif
