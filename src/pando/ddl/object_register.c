/*
 * object_register.c: a node records an object that it was told to make.
 *
 * What is recorded counts as being the same on every node, whoever owns it, so only nodes
 * may say so.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/objectaddress.h"
#include "catalog/namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "parser/parse_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "pando/base/sql.h"
#include "pando/catalog/object.h"
#include "pando/ddl/object.h"
#include "pando/metadata/function.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(object_register);
PG_FUNCTION_INFO_V1(object_distribute);

/* An array of text as a List of String. */
static List *
strings_of(Datum array)
{
	List *strings = NIL;
	Datum *values;
	bool *nulls;
	int count;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT,
					  &values, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i])
			strings = lappend(strings, makeString(TextDatumGetCString(values[i])));
	}
	return strings;
}

/* Of a prefix operator: PostgreSQL gives the one argument, but does not take it back. */
static ObjectAddress
prefix_operator(List *names, const char *operand)
{
	ObjectAddress address;
	Oid type;
	int32 typmod;

	parseTypeString(operand, &type, &typmod, false);
	ObjectAddressSet(address, OperatorRelationId,
					 OpernameGetOprid(names, InvalidOid, type));
	if (!OidIsValid(address.objectId))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("operator does not exist")));
	return address;
}

/* The address that the names stand for on this server; raises if there is none. */
static ObjectAddress
object_resolve(Datum type, Datum names, Datum args)
{
	ObjectAddress address;
	HeapTupleHeader record;
	bool isnull;

	if (strcmp(TextDatumGetCString(type), "operator") == 0 &&
		list_length(strings_of(args)) == 1)
		return prefix_operator(strings_of(names), strVal(linitial(strings_of(args))));
	record = DatumGetHeapTupleHeader(
		OidFunctionCall3(F_PG_GET_OBJECT_ADDRESS, type, names, args));
	address.classId = DatumGetObjectId(GetAttributeByNum(record, 1, &isnull));
	address.objectId = DatumGetObjectId(GetAttributeByNum(record, 2, &isnull));
	address.objectSubId = DatumGetInt32(GetAttributeByNum(record, 3, &isnull));
	return address;
}

/* object_register(type, names, args): as pg_identify_object_as_address() gives them */
Datum
object_register(PG_FUNCTION_ARGS)
{
	ObjectAddress address;

	xact_require_node("pando.object_register()");
	address = object_resolve(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), PG_GETARG_DATUM(2));
	if (catalog_object_find(&address) == NULL)
		catalog_object_insert(catalog_object_new(&address));
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

char *
object_distribute_command(const ObjectRow *row)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT pando.object_distribute(%s, ",
					 quote_literal_cstr(row->type));
	sql_append_text_array(&sql, row->object_names);
	appendStringInfoString(&sql, ", ");
	sql_append_text_array(&sql, row->object_args);
	appendStringInfo(&sql, ", %d, %d, %d)", row->distribution_argument_index,
					 row->colocationid, row->force_delegation);
	return sql.data;
}

/*
 * object_distribute(type, names, args, argument, colocation group, forced): a function's
 * calls go where the rows of that argument are; -1 stands for NULL.
 */
Datum
object_distribute(PG_FUNCTION_ARGS)
{
	ObjectAddress address;
	ObjectRow *row;
	bool recorded;

	xact_require_node("pando.object_distribute()");
	address = object_resolve(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), PG_GETARG_DATUM(2));
	row = catalog_object_find(&address);
	recorded = row != NULL;
	if (!recorded)
		row = catalog_object_new(&address);
	row->distribution_argument_index = PG_GETARG_INT32(3);
	row->colocationid = PG_GETARG_INT32(4);
	row->force_delegation = PG_GETARG_INT32(5);
	if (recorded)
		(void) catalog_object_update(row);
	else
		catalog_object_insert(row);
	if (address.classId == ProcedureRelationId)
		dist_function_invalidate(address.objectId);
	CommandCounterIncrement();
	PG_RETURN_VOID();
}
