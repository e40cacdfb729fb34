/*
 * row_place.h: where a row of a shard is, as a value that travels with the row.
 *
 * A *place* is the text `shard id (block,offset) xmin`: pando.row_place() makes it on the
 * node, of system columns of the shard's own table. The version of the row is part of it:
 * once the row was changed, or another took its spot, nothing is at the place any more.
 * It holds for the copy that it was read from.
 */
#ifndef PANDO_PLAN_ROW_PLACE_H
#define PANDO_PLAN_ROW_PLACE_H

#include "pando/compat/compat.h"
#include "nodes/nodes.h"

/* The call for the relation at a position of a level's range table. */
extern Node *row_place_call(Index varno);

/* Is it such a call? Its columns are the shard's, not the shell table's. */
extern bool is_row_place(Node *node);

/* The shard id of a place. */
extern int64 row_place_shard(const char *place);

/* The position in the shard's table, `(block,offset)`. */
extern char *row_place_tid(const char *place);

#endif
