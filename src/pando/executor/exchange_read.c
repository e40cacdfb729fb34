/*
 * exchange_read.c: reading the parts of an exchange on a node.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "pando/executor/decode.h"
#include "pando/executor/intermediate.h"
#include "pando/executor/pieces.h"
#include "pando/plan/exchange_argument.h"

PG_FUNCTION_INFO_V1(exchange_rows);
PG_FUNCTION_INFO_V1(exchange_rows_support);

/* Taken apart; the text is changed. */
static ExchangeArgument
parse_argument(char *text)
{
	ExchangeArgument argument;
	char *copy = pstrdup(text);

	if (!exchange_argument_parse(text, &argument))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("\"%s\" does not name an exchange", copy)));
	pfree(copy);
	return argument;
}

/* Readers of the next part that is named, NIL after the last. */
static List *
next_readers(ExchangeArgument *argument)
{
	const char *text = argument->files;
	int length = strcspn(text, ",");
	int part;
	int group;
	int used = 0;

	if (length == 0)
		return NIL;
	if (sscanf(text, "%d_%d%n", &part, &group, &used) != 2 || used != length)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("\"%s\" does not name a part of an exchange", text)));
	argument->files += length + (text[length] == ',');
	return pieces_open(argument->result, part, group);
}

static void
read_rows(ResultReader *reader, RowDecoder *decoder, ReturnSetInfo *rsinfo,
		  MemoryContext row_context)
{
	TupleDesc desc = rsinfo->setDesc;
	Datum *values = palloc(sizeof(Datum) * (desc->natts + 1));
	bool *nulls = palloc(sizeof(bool) * (desc->natts + 1));
	char *row;
	int length;

	while ((row = result_reader_next(reader, &length)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(row_context);

		CHECK_FOR_INTERRUPTS();
		(void) decode_copy_row(decoder, row, length, values, nulls);
		tuplestore_putvalues(rsinfo->setResult, desc, values, nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_context);
	}
	result_reader_close(reader);
}

/* pando.exchange_rows(files text): the rows of the files of an ExchangeArgument. */
Datum
exchange_rows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext row_context;
	RowDecoder *decoder;
	ExchangeArgument argument;
	List *readers;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	argument = parse_argument(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	decoder = decoder_create(rsinfo->setDesc, argument.binary, true);
	row_context = AllocSetContextCreate(CurrentMemoryContext, "exchanged row",
										ALLOCSET_DEFAULT_SIZES);
	while ((readers = next_readers(&argument)) != NIL)
	{
		foreach_ptr (ResultReader, reader, readers)
			read_rows(reader, decoder, rsinfo, row_context);
	}
	MemoryContextDelete(row_context);
	PG_RETURN_NULL();
}

/* About how many rows the parts have, from their sizes and one row. */
static double
estimate_rows(char *text)
{
	double rows = 0;
	double length = 0;
	ExchangeArgument argument = parse_argument(text);
	List *readers;

	while ((readers = next_readers(&argument)) != NIL)
	{
		foreach_ptr (ResultReader, reader, readers)
		{
			int row_length;

			if (length == 0 && result_reader_next(reader, &row_length) != NULL)
				length = row_length;
			if (length > 0)
				rows += (double) result_reader_size(reader) / length;
			result_reader_close(reader);
		}
	}
	return Max(rows, 1);
}

/* Tells the planner how many rows there are. */
Datum
exchange_rows_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);
	SupportRequestRows *rows = (SupportRequestRows *) request;
	Node *argument;

	if (!IsA(request, SupportRequestRows) || !is_funcclause(rows->node))
		PG_RETURN_POINTER(NULL);
	argument = linitial(((FuncExpr *) rows->node)->args);
	if (!IsA(argument, Const) || ((Const *) argument)->constisnull)
		PG_RETURN_POINTER(NULL);
	/* Before the exchange has run there is nothing to look at. */
	if (strchr(TextDatumGetCString(((Const *) argument)->constvalue), ':') == NULL)
		PG_RETURN_POINTER(NULL);
	rows->rows = estimate_rows(TextDatumGetCString(((Const *) argument)->constvalue));
	PG_RETURN_POINTER(rows);
}
