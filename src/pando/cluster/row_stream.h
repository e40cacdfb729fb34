/*
 * row_stream.h: rows of a shard of this server, sent to a relation of another.
 */
#ifndef PANDO_CLUSTER_ROW_STREAM_H
#define PANDO_CLUSTER_ROW_STREAM_H

#include "pando/compat/compat.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

/*
 * Copies rows of this server's shard of a table, those with a hash in the range or all
 * (NULL), into the table of that (qualified, quoted) name and the same columns on the
 * node, in the transaction. Generated columns are left to the node. The caller holds a
 * lock that keeps writers out.
 */
extern void row_stream_to_node(Oid relid, int64 shard_id, const HashRange *range,
							   const DistNode *node, const char *target);

#endif
