/*
 * dest.h: a DestReceiver that sends rows to the shards of a distributed or reference
 * table.
 *
 * COPY FROM, INSERT ... SELECT through this node and the conversion of a table with rows
 * all end here. Rows to this node's own placements are inserted in the backend; others go
 * out as COPY over the transaction's owner sessions, to all placements of the row's
 * shard.
 */
#ifndef PANDO_COPY_DEST_H
#define PANDO_COPY_DEST_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "tcop/dest.h"

/* Columns of the incoming rows by attribute number (int list); others are left to the
 * shard, so they must have been given their defaults here. */
extern DestReceiver *copy_dest_create(Oid relid, List *attnums);

/* Rows received, after rShutdown. */
extern uint64 copy_dest_processed(DestReceiver *dest);

#endif
