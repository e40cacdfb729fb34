/*
 * shard_route.h: each row to all placements of its shard.
 */
#ifndef PANDO_COPY_SHARD_ROUTE_H
#define PANDO_COPY_SHARD_ROUTE_H

#include "pando/compat/compat.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "pando/copy/line.h"
#include "pando/metadata/table.h"

typedef struct ShardRoute ShardRoute;

/*
 * Begins to send rows of the table, of which `attnums` (int list) come with each row, to
 * the shard with that index; -1: to those that their values say. The caller holds ROW
 * EXCLUSIVE on the shell.
 */
extern ShardRoute *shard_route_rows(const DistTable *table, Relation shell, List *attnums,
									int shard, CopyLine *line);

/* The same for raw lines, which nodes read as `options` (SQL text, without parentheses)
 * say. */
extern ShardRoute *shard_route_lines(const DistTable *table, Relation shell,
									 List *attnums, const char *options, int shard,
									 CopyLine *line);

/* The columns that a row has to bring: neither dropped nor generated. */
extern List *shard_route_columns(TupleDesc desc);

/* Has this node placements itself? Then lines can't be routed, only rows. */
extern bool shard_route_has_local(const DistTable *table);

/* Sends a row, in the shell's shape. */
extern void shard_route_row(ShardRoute *route, TupleTableSlot *row);

/* Sends a line (without its end) for a row whose distribution column has that value. */
extern void shard_route_line(ShardRoute *route, Datum key, bool isnull, const char *bytes,
							 int length);

/* Waits until all is stored; returns the rows stored, each counted once. */
extern uint64 shard_route_finish(ShardRoute *route);

#endif
