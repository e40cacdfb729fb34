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
#include "storage/fd.h"
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

/*
 * The parts of an exchanged result (pieces.h) are files that have rows alone. They are
 * removed at the end of the transaction that creates them. Opening gives the size.
 * Reading gives all of a file that has at most so many bytes; NULL: there is none.
 */
extern File result_file_open(const char *name, bool create, off_t *size);
extern void result_file_write(File file, off_t *offset, const char *data, int length);
extern char *result_file_read(const char *name, int most, int *length);

/* Raises when that many kilobytes, of citus.max_intermediate_result_size, are exceeded;
 * -1: no limit. */
extern void result_check_size(uint64 bytes, int kilobytes);

/* Reads such a file, or rows in memory, which it takes over, row by row: one row of
 * binary COPY data, valid until the next call; NULL at the end. */
typedef struct ResultReader ResultReader;
extern ResultReader *result_reader_open(const char *name, bool missing_ok);
extern ResultReader *result_reader_of_rows(char *rows, int length);
extern char *result_reader_next(ResultReader *reader, int *length);
extern uint64 result_reader_size(const ResultReader *reader);
extern void result_reader_close(ResultReader *reader);

/* Registers the removal at the end of transactions; once, when the library is loaded. */
extern void result_init(void);

#endif
