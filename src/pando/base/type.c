/*
 * type.c: whether a type's values mean the same on another server.
 *
 * OIDs of what initdb made (below FirstNormalObjectId) are the same on all servers of one
 * version, those of what users made are not. So a value travels in binary only where its
 * bytes hold no OID of an object that a user may have made.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "pando/base/type.h"

static bool
has_binary_functions(Oid type)
{
	HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Form_pg_type form;
	bool has;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	form = (Form_pg_type) GETSTRUCT(tuple);
	has = OidIsValid(form->typsend) && OidIsValid(form->typreceive);
	ReleaseSysCache(tuple);
	return has;
}

bool
type_is_object_name(Oid type)
{
	switch (type)
	{
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGCOLLATIONOID:
		case REGTYPEOID:
		case REGROLEOID:
		case REGNAMESPACEOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
			return true;
		default:
			return false;
	}
}

static bool
composite_travels_binary(Oid type)
{
	TupleDesc desc = lookup_rowtype_tupdesc(type, -1);
	bool travels = true;

	for (int i = 0; i < desc->natts && travels; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		travels = attribute->attisdropped || (attribute->atttypid < FirstNormalObjectId &&
											  type_travels_binary(attribute->atttypid));
	}
	ReleaseTupleDesc(desc);
	return travels;
}

bool
type_is_basic(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case UUIDOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
		case BYTEAOID:
		case JSONOID:
		case JSONBOID:
			return true;
		default:
			return false;
	}
}

bool
type_travels_binary(Oid type)
{
	Oid element;

	check_stack_depth();
	if (type_is_basic(type) || type == BOOLOID || type == RECORDOID)
		return true;
	type = getBaseType(type);
	if (type_is_object_name(type) || type == ACLITEMOID || !has_binary_functions(type))
		return false;
	element = get_element_type(type);
	if (OidIsValid(element))
		return element < FirstNormalObjectId && element != RECORDOID &&
			   type_travels_binary(element);
	switch (get_typtype(type))
	{
		case TYPTYPE_COMPOSITE:
			return composite_travels_binary(type);
		case TYPTYPE_RANGE:
			return type_travels_binary(get_range_subtype(type));
		case TYPTYPE_MULTIRANGE:
			return type_travels_binary(get_multirange_range(type));
		default:
			return true;
	}
}

bool
type_hash_is_portable(Oid type)
{
	Oid inner;

	check_stack_depth();
	type = getBaseType(type);
	if (type_is_object_name(type) || get_typtype(type) == TYPTYPE_ENUM)
		return false;
	if (OidIsValid(inner = get_element_type(type)) ||
		OidIsValid(inner = get_range_subtype(type)) ||
		OidIsValid(inner = get_multirange_range(type)))
		return type_hash_is_portable(inner);
	if (get_typtype(type) == TYPTYPE_COMPOSITE)
	{
		TupleDesc desc = lookup_rowtype_tupdesc_copy(type, -1);

		for (int i = 0; i < desc->natts; i++)
		{
			if (!TupleDescAttr(desc, i)->attisdropped &&
				!type_hash_is_portable(TupleDescAttr(desc, i)->atttypid))
				return false;
		}
	}
	return true;
}
