/*
 * row_format.c: rows as bytes between nodes; see the header for the format.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "pando/base/type.h"
#include "pando/base/literal.h"
#include "pando/copy/row_format.h"

#define FORM_BINARY 'b'
#define FORM_TEXT 't'

typedef struct Column
{
	AttrNumber attnum;
	char form;
	bool plain; /* writing: the text form depends on no setting */
	Oid type;
	int32 typmod;
	FmgrInfo function; /* send, output, receive or input */
	Oid ioparam;
} Column;

struct RowFormat
{
	TupleDesc desc;
	int ncolumns;
	Column *columns;
};

/*
 * Send functions of types that hold characters convert to the client's encoding, which is
 * not what goes between nodes. These types have none, or are read with conversion alike.
 */
static bool
type_has_no_characters(Oid type)
{
	switch (getBaseType(type))
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case CASHOID:
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
		case BYTEAOID:
		case UUIDOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:
		case POINTOID:
		case BITOID:
		case VARBITOID:
		case INT4ARRAYOID:
		case INT8ARRAYOID:
		case FLOAT8ARRAYOID:
			return true;
		default:
			return false;
	}
}

/* Types whose text form depends on no setting, so that the function can be called as it
 * is. */
static bool
type_is_plain_text(Oid type)
{
	switch (type)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case JSONOID:
		case JSONBOID:
			return true;
		default:
			return false;
	}
}

static RowFormat *
format_make(TupleDesc desc, List *attnums)
{
	RowFormat *format = palloc0(sizeof(RowFormat));
	ListCell *cell;
	int i = 0;

	format->desc = desc;
	format->ncolumns = list_length(attnums);
	format->columns = palloc0(sizeof(Column) * Max(format->ncolumns, 1));
	foreach (cell, attnums)
	{
		Column *column = &format->columns[i++];
		Form_pg_attribute att = TupleDescAttr(desc, lfirst_int(cell) - 1);

		column->attnum = lfirst_int(cell);
		column->type = att->atttypid;
		column->typmod = att->atttypmod;
	}
	return format;
}

RowFormat *
row_format_for_writing(TupleDesc desc, List *attnums)
{
	RowFormat *format = format_make(desc, attnums);
	bool same_encoding = pg_get_client_encoding() == GetDatabaseEncoding();

	for (int i = 0; i < format->ncolumns; i++)
	{
		Column *column = &format->columns[i];
		Oid function;
		bool is_varlena;

		column->plain = type_is_plain_text(column->type);
		column->form = FORM_TEXT;
		if (!column->plain && (same_encoding || type_has_no_characters(column->type)) &&
			type_travels_binary(column->type))
			column->form = FORM_BINARY;
		if (column->form == FORM_BINARY)
			getTypeBinaryOutputInfo(column->type, &function, &is_varlena);
		else
			getTypeOutputInfo(column->type, &function, &is_varlena);
		fmgr_info(function, &column->function);
	}
	return format;
}

char *
row_format_letters(const RowFormat *format)
{
	char *letters = palloc0(format->ncolumns + 1);

	for (int i = 0; i < format->ncolumns; i++)
		letters[i] = format->columns[i].form;
	return letters;
}

RowFormat *
row_format_for_reading(TupleDesc desc, List *attnums, const char *letters)
{
	RowFormat *format = format_make(desc, attnums);

	if (strlen(letters) != format->ncolumns || strspn(letters, "bt") != format->ncolumns)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("row format does not fit the columns")));

	for (int i = 0; i < format->ncolumns; i++)
	{
		Column *column = &format->columns[i];
		Oid function;

		column->form = letters[i];
		if (column->form == FORM_BINARY)
			getTypeBinaryInputInfo(column->type, &function, &column->ioparam);
		else
			getTypeInputInfo(column->type, &function, &column->ioparam);
		fmgr_info(function, &column->function);
	}
	return format;
}

void
row_format_write(RowFormat *format, StringInfo out, const Datum *values,
				 const bool *nulls)
{
	for (int i = 0; i < format->ncolumns; i++)
	{
		Column *column = &format->columns[i];
		int at = column->attnum - 1;

		if (nulls[at])
			pq_sendint32(out, -1);
		else if (column->form == FORM_BINARY)
		{
			bytea *bytes = SendFunctionCall(&column->function, values[at]);

			pq_sendint32(out, VARSIZE(bytes) - VARHDRSZ);
			appendBinaryStringInfo(out, VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ);
		}
		else
		{
			char *text = column->plain ? OutputFunctionCall(&column->function, values[at])
									   : literal_text(values[at], false, column->type);

			pq_sendint32(out, strlen(text));
			appendBinaryStringInfo(out, text, strlen(text));
		}
	}
}

void
row_format_read(RowFormat *format, StringInfo in, Datum *values, bool *nulls)
{
	memset(values, 0, sizeof(Datum) * format->desc->natts);
	memset(nulls, true, sizeof(bool) * format->desc->natts);

	for (int i = 0; i < format->ncolumns; i++)
	{
		Column *column = &format->columns[i];
		int at = column->attnum - 1;
		int32 length = pq_getmsgint(in, 4);
		StringInfoData field = {0};
		char after = '\0';

		if (length < -1)
			ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
							errmsg("invalid field length %d in a row", length)));
		nulls[at] = length == -1;
		if (!nulls[at])
		{
			/* Where it is, for it may be long, but with a NUL at its end. */
			field.data = unconstify(char *, pq_getmsgbytes(in, length));
			field.len = length;
			field.maxlen = length + 1;
			after = field.data[length];
			field.data[length] = '\0';
		}

		/* Domains check their constraints for NULL, too. */
		if (column->form == FORM_TEXT)
		{
			char *text = nulls[at] ? NULL : pg_client_to_server(field.data, field.len);

			values[at] = InputFunctionCall(&column->function, text, column->ioparam,
										   column->typmod);
		}
		else
			values[at] = ReceiveFunctionCall(&column->function, nulls[at] ? NULL : &field,
											 column->ioparam, column->typmod);
		if (nulls[at])
			continue;
		if (column->form == FORM_BINARY && field.cursor != field.len)
			ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
							errmsg("incorrect binary data format")));
		field.data[length] = after;
	}
}
