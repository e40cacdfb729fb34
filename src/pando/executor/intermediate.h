/*
 * intermediate.h: the files that hold intermediate results on a node.
 *
 * A result is binary COPY data (decode.h) in a temporary file that only the role which
 * wrote it can find. It lasts until the end of the transaction; a crash restart removes
 * it like any temporary file.
 */
#ifndef PANDO_EXECUTOR_INTERMEDIATE_H
#define PANDO_EXECUTOR_INTERMEDIATE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "tcop/dest.h"

/*
 * A receiver that writes the rows it gets into this node's file of that name, and counts.
 * Raises when citus.max_intermediate_result_size is exceeded.
 */
extern DestReceiver *result_writer_create(const char *name);
extern uint64 result_writer_bytes(DestReceiver *writer);
extern uint64 result_writer_rows(DestReceiver *writer);

/* Sends this node's file to others (List of const DistNode *), as part of the
 * transaction. */
extern void result_send(const char *name, List *nodes);

/* Removes this node's file before the end of the transaction. */
extern void result_remove(const char *name);

/* Registers the removal at the end of transactions; once, when the library is loaded. */
extern void result_init(void);

#endif
