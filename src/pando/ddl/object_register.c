/*
 * object_register.c: a node records an object that it was told to make.
 *
 * What is recorded counts as being the same on every node, whoever owns it, so only nodes
 * may say so.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/objectaddress.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "pando/catalog/object.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(object_register);

/* The address that the names stand for on this server; raises if there is none. */
static ObjectAddress
object_resolve(Datum type, Datum names, Datum args)
{
	ObjectAddress address;
	HeapTupleHeader record = DatumGetHeapTupleHeader(
		OidFunctionCall3(F_PG_GET_OBJECT_ADDRESS, type, names, args));
	bool isnull;

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
