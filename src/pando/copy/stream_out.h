/*
 * stream_out.h: rows on their way to one node.
 *
 * One COPY per node carries the rows of all of its shards; the node finds each row's
 * shard as this one did (stream_in.c). What travels is a series of blocks:
 *
 *   int32 rows | int32 bytes | int64 first line | int32 lines after the first, per row |
 * bytes
 *
 * in network order. The bytes are rows (row_format.h) or raw lines of text, each with its
 * newline.
 */
#ifndef PANDO_COPY_STREAM_OUT_H
#define PANDO_COPY_STREAM_OUT_H

#include "pando/compat/compat.h"
#include "lib/stringinfo.h"

#include "pando/copy/line.h"
#include "pando/metadata/node.h"

typedef struct StreamOut StreamOut;

/*
 * Nothing is sent before there are rows. `command` is the COPY that the node is to run;
 * columns_checked: without a right of the client on each of its columns.
 */
extern StreamOut *stream_out_make(const DistNode *node, const char *command,
								  bool columns_checked, CopyLine *line);

/* Adds one row's bytes; sends when enough are gathered. */
extern void stream_out_row(StreamOut *stream, const char *bytes, int length, uint64 line);

/*
 * Ends all streams (List of StreamOut *) and waits for their nodes; raises the first
 * error. Returns how many of the rows sent the nodes did not insert (a trigger may skip
 * rows), over all streams.
 */
extern uint64 stream_out_finish(List *streams);

#endif
