/*
 * coverage.c: which statements of PostgreSQL have a handler, for the test that none is
 * forgotten.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "funcapi.h"
#include "tcop/cmdtag.h"
#include "tcop/utility.h"
#include "utils/builtins.h"

#include "pando/ddl/handler.h"
#include "pando/ddl/kind.h"
#include "pando/ddl/shard_ddl.h"

PG_FUNCTION_INFO_V1(command_tags);
PG_FUNCTION_INFO_V1(statement_reach);

/* pando.command_tags(): all that PostgreSQL knows. */
Datum
command_tags(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	bool null = false;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	for (int tag = 0; tag < COMPAT_COMMAND_TAGS; tag++)
	{
		Datum value = CStringGetTextDatum(GetCommandTagName(tag));

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &null);
	}
	return (Datum) 0;
}

/* pando.statement_reach(statement): its tag, and whether it may leave this node. */
Datum
statement_reach(PG_FUNCTION_ARGS)
{
	List *parsed = shard_parse(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	Node *stmt;
	const ObjectKind *kind;
	int type;
	TupleDesc desc;
	Datum values[2];
	bool nulls[2] = {false, false};

	if (list_length(parsed) != 1)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("one statement, please")));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	stmt = linitial(parsed);
	type = handler_object_type(stmt);
	kind = type == ANY_OBJECT ? NULL : kind_of_type(type);
	values[0] = CStringGetTextDatum(GetCommandTagName(CreateCommandTag(stmt)));
	values[1] = BoolGetDatum(handler_find(stmt) != NULL &&
							 (kind == NULL || kind->place != KIND_LOCAL));
	PG_RETURN_DATUM(
		HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
