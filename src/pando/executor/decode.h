/*
 * decode.h: rows that came from a node, as Datums; rows for a node, as bytes.
 */
#ifndef PANDO_EXECUTOR_DECODE_H
#define PANDO_EXECUTOR_DECODE_H

#include "pando/compat/compat.h"
#include "access/tupdesc.h"
#include "lib/stringinfo.h"
#include "libpq-fe.h"

typedef struct RowDecoder RowDecoder;
typedef struct RowEncoder RowEncoder;

/*
 * Can the columns' values travel in binary between nodes? Their bytes must not hold OIDs
 * of objects that users made, since these differ from node to node.
 */
extern bool columns_travel_binary(TupleDesc desc);

/*
 * Makes a decoder for rows of the descriptor, in the current memory context. `checked`:
 * domains' constraints are, as bytes need it that somebody may have made by hand. What a
 * node read from a table may be older than a constraint that is NOT VALID.
 */
extern RowDecoder *decoder_create(TupleDesc desc, bool binary, bool checked);

/* Row of a result in the decoder's format; returns the bytes of its values.
 * Pass-by-reference values are in the current memory context. */
extern uint64 decode_result_row(RowDecoder *decoder, const PGresult *result, int row,
								Datum *values, bool *nulls);

/*
 * One row of binary COPY data, without the header; values are in the current memory
 * context. Returns its length, 0 at the trailer. data[length] must be writable memory
 * holding '\0'.
 */
extern int decode_copy_row(RowDecoder *decoder, char *data, int length, Datum *values,
						   bool *nulls);

/* The header of binary COPY data: its length, and whether the fields are text. */
extern int decode_copy_header(const char *data, int length, bool *text_fields);

/* Rows as binary COPY data; `binary` false puts the fields' text forms into it. */
extern RowEncoder *encoder_create(TupleDesc desc, bool binary);
extern void encode_header(RowEncoder *encoder, StringInfo out);
extern void encode_row(RowEncoder *encoder, StringInfo out, const Datum *values,
					   const bool *nulls);
extern void encode_trailer(StringInfo out);

#endif
