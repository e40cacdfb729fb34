/*
 * row_stream.h: rows of a relation of this server, sent to a relation of another.
 */
#ifndef PANDO_CLUSTER_ROW_STREAM_H
#define PANDO_CLUSTER_ROW_STREAM_H

#include "pando/compat/compat.h"
#include "pando/metadata/node.h"

/*
 * Copies all rows of the plain relation `source` of this server into the table of that
 * (qualified, quoted) name and the same columns on the node, in the transaction.
 * Generated columns are left to the node. The caller holds a lock that keeps writers of
 * `source` out. Returns the number of rows.
 */
extern uint64 row_stream_to_node(Oid source, const DistNode *node, const char *target);

#endif
