/*
 * row_format.h: rows as bytes between nodes.
 *
 * Column by column in the order of `attnums`: a length in network order (-1: NULL) and
 * that many bytes, in the type's binary form, or its text form where the binary form is
 * missing or carries numbers (OIDs) that differ from node to node.
 */
#ifndef PANDO_COPY_ROW_FORMAT_H
#define PANDO_COPY_ROW_FORMAT_H

#include "pando/compat/compat.h"
#include "access/tupdesc.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

typedef struct RowFormat RowFormat;

/* For writing; the form of each column is chosen here. */
extern RowFormat *row_format_for_writing(TupleDesc desc, List *attnums);

/* The chosen forms as a string, one letter per column, to be given to the reader. */
extern char *row_format_letters(const RowFormat *format);

/* For reading what another node wrote. */
extern RowFormat *row_format_for_reading(TupleDesc desc, List *attnums,
										 const char *letters);

/* Appends a row; values and nulls are indexed by attribute number - 1. */
extern void row_format_write(RowFormat *format, StringInfo out, const Datum *values,
							 const bool *nulls);

/* Reads a row at in->cursor; columns which are not in the format become NULL. */
extern void row_format_read(RowFormat *format, StringInfo in, Datum *values, bool *nulls);

#endif
