/*
 * decode.c: rows that came from a node, as Datums; rows for a node, as bytes.
 *
 * The binary format is COPY's: 19 bytes of header, then per row a 16-bit count and
 * per field a 32-bit length (-1: NULL) with the bytes of the type's send function, and -1
 * as the count at the end. Where a type can't travel like that, results come as text; the
 * files of intermediate results then hold text in the same frame, and say so in the
 * header's flags.
 *
 * An anonymous record's bytes name the types of its fields, so that it can be read though
 * the core's record_recv() can't know them.
 *
 * Bytes are hostile: any role can write a file and read it as rows. Lengths are checked
 * against what there is, depth by the stack, and a type's receive function gets what
 * COPY (FORMAT binary) would hand it from anybody. Nothing in the bytes is taken as a
 * Datum or as the inside of one.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pando/base/literal.h"
#include "pando/base/type.h"
#include "pando/executor/decode.h"

#define HEADER_LENGTH 19
#define FLAG_TEXT_FIELDS 1 /* the low 16 bits of the flags are the application's */
static const char signature[11] = "PGCOPY\n\377\r\n\0";

struct RowDecoder
{
	int ncolumns;
	bool binary;
	FmgrInfo *functions;
	Oid *types;
	Oid *ioparams;
	int32 *typmods;
};

struct RowEncoder
{
	int ncolumns;
	bool binary;
	FmgrInfo *functions;
	Oid *types;
};

/* ------------------------------------------------------------------------------------
 * Which rows travel in binary.
 */

bool
columns_travel_binary(TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		if (!type_travels_binary(TupleDescAttr(desc, i)->atttypid))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------------------
 * Decoding.
 */

RowDecoder *
decoder_create(TupleDesc desc, bool binary, bool checked)
{
	RowDecoder *decoder = palloc(sizeof(RowDecoder));
	int n = desc->natts;

	decoder->ncolumns = n;
	decoder->binary = binary;
	decoder->functions = palloc0(sizeof(FmgrInfo) * n);
	decoder->types = palloc(sizeof(Oid) * n);
	decoder->ioparams = palloc(sizeof(Oid) * n);
	decoder->typmods = palloc(sizeof(int32) * n);
	for (int i = 0; i < n; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		Oid type = attribute->atttypid;
		Oid function;

		if (!checked && !type_is_basic(type))
			type = getBaseType(type);
		decoder->types[i] = type;
		decoder->typmods[i] = attribute->atttypmod;
		if (binary)
			getTypeBinaryInputInfo(type, &function, &decoder->ioparams[i]);
		else
			getTypeInputInfo(type, &function, &decoder->ioparams[i]);
		fmgr_info(function, &decoder->functions[i]);
	}
	return decoder;
}

static void
pg_attribute_noreturn() malformed(void)
{
	ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
					errmsg("malformed row received from a node")));
}

static int32
read_int32(const char *data, const char *end)
{
	uint32 value;

	if (end - data < (ptrdiff_t) sizeof(value))
		malformed();
	memcpy(&value, data, sizeof(value));
	return (int32) pg_ntoh32(value);
}

/* Calls a receive function on bytes that are followed by at least one writable byte. */
static Datum
receive_value(FmgrInfo *function, Oid ioparam, int32 typmod, char *data, int length)
{
	StringInfoData buffer;
	char saved = data[length];
	Datum value;

	buffer.data = data;
	buffer.len = length;
	buffer.maxlen = length + 1;
	buffer.cursor = 0;
	/* Receive functions may count on a terminating NUL. */
	data[length] = '\0';
	value = ReceiveFunctionCall(function, &buffer, ioparam, typmod);
	data[length] = saved;
	if (buffer.cursor != buffer.len)
		malformed();
	return value;
}

/*
 * The type that a field of an anonymous record claims to have. Of pseudo-types only those
 * that a record's fields can have in a query.
 */
static void
check_field_type(Oid type)
{
	if (type >= FirstNormalObjectId)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("an anonymous record with a user-defined type cannot "
							   "come from a node")));
	if (!get_typisdefined(type) ||
		(get_typtype(type) == TYPTYPE_PSEUDO && type != RECORDOID &&
		 type != RECORDARRAYOID && type != UNKNOWNOID && type != VOIDOID))
		malformed();
}

/* An anonymous record: number of fields, then (type, length, bytes) each. */
static Datum
receive_record(char *data, int length)
{
	const char *end = data + length;
	int nfields = read_int32(data, end);
	TupleDesc desc;
	Datum *values;
	bool *nulls;
	HeapTuple tuple;

	check_stack_depth();
	if (nfields < 0 || nfields > MaxTupleAttributeNumber)
		malformed();
	desc = CreateTemplateTupleDesc(nfields);
	values = palloc0(sizeof(Datum) * nfields);
	nulls = palloc0(sizeof(bool) * nfields);
	data += sizeof(int32);
	for (int i = 0; i < nfields; i++)
	{
		Oid type = (Oid) read_int32(data, end);
		int32 size = read_int32(data + sizeof(int32), end);

		data += 2 * sizeof(int32);
		check_field_type(type);
		TupleDescInitEntry(desc, i + 1, psprintf("f%d", i + 1), type, -1, 0);
		nulls[i] = size < 0;
		if (size > end - data)
			malformed();
		if (size < 0)
			continue;
		if (type == RECORDOID)
			values[i] = receive_record(data, size);
		else
		{
			FmgrInfo function;
			Oid receive;
			Oid ioparam;

			getTypeBinaryInputInfo(type, &receive, &ioparam);
			fmgr_info(receive, &function);
			values[i] = receive_value(&function, ioparam, -1, data, size);
		}
		data += size;
	}
	if (data != end)
		malformed();
	BlessTupleDesc(desc);
	tuple = heap_form_tuple(desc, values, nulls);
	return HeapTupleGetDatum(tuple);
}

/* The most common types, without a call of their receive functions. */
static bool
decode_number(Oid function, const char *data, int length, Datum *value)
{
	uint32 word;
	uint64 words;

	switch (function)
	{
		case F_INT4RECV:
			if (length != sizeof(word))
				return false;
			memcpy(&word, data, sizeof(word));
			*value = Int32GetDatum((int32) pg_ntoh32(word));
			return true;
		case F_INT8RECV:
			if (length != sizeof(words))
				return false;
			memcpy(&words, data, sizeof(words));
			*value = Int64GetDatum((int64) pg_ntoh64(words));
			return true;
		default:
			return false;
	}
}

static Datum
decode_binary(RowDecoder *decoder, int column, char *data, int length)
{
	Datum value;

	if (decode_number(decoder->functions[column].fn_oid, data, length, &value))
		return value;
	if (decoder->types[column] == RECORDOID)
		return receive_record(data, length);
	return receive_value(&decoder->functions[column], decoder->ioparams[column],
						 decoder->typmods[column], data, length);
}

static Datum
decode_text(RowDecoder *decoder, int column, char *text)
{
	return InputFunctionCall(&decoder->functions[column], text, decoder->ioparams[column],
							 decoder->typmods[column]);
}

uint64
decode_result_row(RowDecoder *decoder, const PGresult *result, int row, Datum *values,
				  bool *nulls)
{
	uint64 bytes = 0;

	if (PQnfields(result) != decoder->ncolumns)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("a node sent %d columns instead of %d", PQnfields(result),
							   decoder->ncolumns)));
	for (int i = 0; i < decoder->ncolumns; i++)
	{
		char *value;
		int length;

		nulls[i] = PQgetisnull(result, row, i);
		values[i] = (Datum) 0;
		if (nulls[i])
		{
			/* Domains may refuse NULL, but the node has checked that. */
			continue;
		}
		value = PQgetvalue(result, row, i);
		length = PQgetlength(result, row, i);
		bytes += length;
		values[i] = decoder->binary ? decode_binary(decoder, i, value, length)
									: decode_text(decoder, i, value);
	}
	return bytes;
}

int
decode_copy_header(const char *data, int length, bool *text_fields)
{
	int32 flags;
	int32 extension;

	if (length < HEADER_LENGTH || memcmp(data, signature, sizeof(signature)) != 0)
		malformed();
	flags = read_int32(data + sizeof(signature), data + length);
	extension = read_int32(data + sizeof(signature) + sizeof(int32), data + length);
	if (extension != 0)
		malformed();
	if (text_fields)
		*text_fields = (flags & FLAG_TEXT_FIELDS) != 0;
	return HEADER_LENGTH;
}

int
decode_copy_row(RowDecoder *decoder, char *data, int length, Datum *values, bool *nulls)
{
	char *start = data;
	char *end = data + length;
	uint16 count;

	if (length < (int) sizeof(count))
		malformed();
	memcpy(&count, data, sizeof(count));
	count = pg_ntoh16(count);
	if (count == (uint16) -1)
		return 0;
	if (count != decoder->ncolumns)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("a node sent %d columns instead of %d", count,
							   decoder->ncolumns)));
	data += sizeof(count);
	for (int i = 0; i < decoder->ncolumns; i++)
	{
		int32 size = read_int32(data, end);

		data += sizeof(int32);
		nulls[i] = size < 0;
		values[i] = (Datum) 0;
		if (size < 0)
			continue;
		if (size > end - data)
			malformed();
		if (decoder->binary)
			values[i] = decode_binary(decoder, i, data, size);
		else
		{
			char saved = data[size];

			data[size] = '\0';
			values[i] = decode_text(decoder, i, data);
			data[size] = saved;
		}
		data += size;
	}
	return data - start;
}

/* ------------------------------------------------------------------------------------
 * Encoding.
 */

RowEncoder *
encoder_create(TupleDesc desc, bool binary)
{
	RowEncoder *encoder = palloc(sizeof(RowEncoder));

	encoder->ncolumns = desc->natts;
	encoder->binary = binary;
	encoder->functions = palloc0(sizeof(FmgrInfo) * desc->natts);
	encoder->types = palloc(sizeof(Oid) * desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		Oid function;
		bool varlena;

		encoder->types[i] = TupleDescAttr(desc, i)->atttypid;
		if (!binary)
			continue;
		getTypeBinaryOutputInfo(encoder->types[i], &function, &varlena);
		fmgr_info(function, &encoder->functions[i]);
	}
	return encoder;
}

static void
append_int32(StringInfo out, int32 value)
{
	uint32 network = pg_hton32((uint32) value);

	appendBinaryStringInfo(out, (char *) &network, sizeof(network));
}

static void
append_int16(StringInfo out, int16 value)
{
	uint16 network = pg_hton16((uint16) value);

	appendBinaryStringInfo(out, (char *) &network, sizeof(network));
}

void
encode_header(RowEncoder *encoder, StringInfo out)
{
	appendBinaryStringInfo(out, signature, sizeof(signature));
	append_int32(out, encoder->binary ? 0 : FLAG_TEXT_FIELDS);
	append_int32(out, 0);
}

void
encode_row(RowEncoder *encoder, StringInfo out, const Datum *values, const bool *nulls)
{
	append_int16(out, encoder->ncolumns);
	for (int i = 0; i < encoder->ncolumns; i++)
	{
		if (nulls[i])
			append_int32(out, -1);
		else if (encoder->binary)
		{
			bytea *bytes = SendFunctionCall(&encoder->functions[i], values[i]);

			append_int32(out, VARSIZE(bytes) - VARHDRSZ);
			appendBinaryStringInfo(out, VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ);
			pfree(bytes);
		}
		else
		{
			char *text = literal_text(values[i], false, encoder->types[i]);

			append_int32(out, strlen(text));
			appendStringInfoString(out, text);
			pfree(text);
		}
	}
}

void
encode_trailer(StringInfo out)
{
	append_int16(out, -1);
}
