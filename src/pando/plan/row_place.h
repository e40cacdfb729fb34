/*
 * row_place.h: where a row of a shard is, as a value that travels with the row.
 *
 * A *place* is the text `shard id (block,offset) xmin`: pando.row_place() makes it on the
 * node, of system columns of the shard's own table. The version of the row is part of it:
 * once the row was changed, or another took its spot, nothing is at the place any more.
 * `own` follows when the transaction that reads the row wrote this version. It holds for
 * the copy that it was read from.
 */
#ifndef PANDO_PLAN_ROW_PLACE_H
#define PANDO_PLAN_ROW_PLACE_H

#include "pando/compat/compat.h"
#include "fmgr.h"
#include "nodes/primnodes.h"
#include "storage/itemptr.h"
#include "pando/metadata/table.h"

/* The call for the relation at a position of a level's range table. */
extern Node *row_place_call(Index varno);
extern bool is_row_place(Node *node);

/*
 * pando.row_ctid(tableoid, ctid): a row's ctid among the rows of all shards of its table;
 * see planner/row_ctid.c.
 */
extern Node *row_ctid_call(Index varno, Index levels_up);

/*
 * pando.row_tableoid(tableoid, tables, oids): the Oid, here, of the shell of the
 * partition whose shard has the row. Tables go by the ids of their first shards.
 */
extern Node *row_tableoid_call(Index varno, Index levels_up, Oid parent);

/* The column tableoid that such a call is given; NULL for any other node. */
extern Node *row_tableoid_column(Node *node);

/* pando.row_moved(tableoid, ctid), for RETURNING of a DELETE: who waits for the row
 * learns that it went elsewhere. */
extern Node *row_moved_call(Index varno);
extern bool is_row_moved(Node *node);

/* pando.row_acts_elsewhere(tableoid, ctid), in WHERE of a change: actions of foreign keys
 * are done elsewhere; see planner/fragment/actions_elsewhere.c. */
extern Node *row_acts_elsewhere_call(Index varno);
extern bool is_row_acts_elsewhere(Node *node);

/* pando.row_keys_wait(tableoid, ctid): keys of the table to itself wait for
 * pando.check_keys(), when all rows of the statement have been changed. */
extern Node *row_keys_wait_call(Index varno);
extern bool is_row_keys_wait(Node *node);

/* pando.shard_ctid(): back to the ctid in the shard, of a ctid or an array of them. */
extern Node *shard_ctid_call(Node *value, int nshards);

/*
 * Is it a call for a row's place, ctid or tableoid? The system columns that it is given
 * are the shard's, not the shell table's, and it is evaluated on the shard.
 */
extern bool is_shard_call(Node *node);

/* One of these columns. */
extern const Var *shard_call_column(Node *node);

/* The shard id of a place. */
extern int64 row_place_shard(const char *place);

/* The position in the shard's table, `(block,offset)`. */
extern char *row_place_tid(const char *place);

/* The transaction that wrote the version. */
extern TransactionId row_place_version(const char *place);

/* What row_ctid() makes of a ctid in the shard. */
extern Datum row_ctid_in_shard(const Shard *shard, int nshards, ItemPointer tid);

/* pando.row_version(table, ctid, xmin): where the row that was there is now, as the
 * active snapshot sees it. */
extern Datum row_version(PG_FUNCTION_ARGS);

/* Did the transaction that read the row write this version of it? */
extern bool row_place_is_own(const char *place);

#endif
