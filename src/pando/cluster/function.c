/*
 * function.c: create_distributed_function(): a function's calls run where the rows of one
 * of its arguments are.
 *
 * The function is made on all nodes, and all of them note which argument it is and which
 * colocation group's shards it chooses. That only says where a call runs best; what it
 * does it would do from any node.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "pando/base/sql.h"
#include "pando/catalog/colocation.h"
#include "pando/catalog/object.h"
#include "pando/cluster/colocation.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/settings.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/lead.h"
#include "pando/ddl/object.h"
#include "pando/metadata/function.h"
#include "pando/metadata/table.h"

PG_FUNCTION_INFO_V1(create_distributed_function);

static void
check_function(Oid funcid)
{
	if (!SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(funcid)))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
						errmsg("function with OID %u does not exist", funcid)));
	if (!compat_owns_function(funcid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_ROUTINE, get_func_name(funcid));
	if (get_func_prokind(funcid) != PROKIND_FUNCTION &&
		get_func_prokind(funcid) != PROKIND_PROCEDURE)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("cannot distribute %s", format_procedure(funcid)),
						errdetail("Only functions and procedures can be distributed.")));
}

/* The input argument of that name, or of the number in "$1", from 0; its type. */
static int
find_argument(Oid funcid, const char *name, Oid *type)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	Oid *types;
	char **names;
	char *modes;
	int count;
	int number = 0;
	int found = -1;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", funcid);
	count = get_func_arg_info(tuple, &types, &names, &modes);
	for (int i = 0; i < count && found < 0; i++)
	{
		char mode = modes != NULL ? modes[i] : PROARGMODE_IN;

		if (mode == PROARGMODE_OUT || mode == PROARGMODE_TABLE)
			continue;
		if (mode != PROARGMODE_VARIADIC &&
			((names != NULL && strcmp(names[i], name) == 0) ||
			 strcmp(psprintf("$%d", number + 1), name) == 0))
		{
			found = number;
			*type = types[i];
		}
		number++;
	}
	ReleaseSysCache(tuple);
	if (found < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot distribute the function \"%s\" because the distribution "
						"argument is not valid",
						get_func_name(funcid)),
				 errhint("Either provide a valid function argument name or a valid "
						 "\"$paramIndex\" to create_distributed_function()")));
	return found;
}

static void
refuse_table(Oid funcid, const char *table, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("cannot colocate function \"%s\" and table \"%s\"",
						   get_func_name(funcid), table),
					errdetail("%s", detail)));
}

/* The group of the named table. `type`: of the argument; InvalidOid: there is none. */
static int32
colocation_of_table(Oid funcid, const char *with, Oid type)
{
	Oid relid = RangeVarGetRelid(
		makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(with))),
		AccessShareLock, false);
	const DistTable *table = dist_table(relid);

	if (table == NULL || table->kind == TABLE_MANAGED_LOCAL || table->managed_local)
		refuse_table(funcid, with, "The table is not distributed.");
	if (table->kind == TABLE_RANGE || table->kind == TABLE_APPEND)
		refuse_table(funcid, with, "The table is distributed by range or append.");
	if (table->kind == TABLE_HASH && !OidIsValid(type))
		refuse_table(funcid, with,
					 "The table has a distribution column, which no argument is given "
					 "for.");
	if (table->kind != TABLE_HASH && OidIsValid(type))
		refuse_table(funcid, with,
					 "The table has no distribution column for the argument.");
	if (OidIsValid(type) && !IsPolymorphicType(type) &&
		!can_coerce_type(1, &type, unconstify(Oid *, &table->key_type),
						 COERCION_IMPLICIT))
		refuse_table(funcid, with,
					 psprintf("The distribution argument has the type %s, the "
							  "distribution column %s.",
							  format_type_be(type), format_type_be(table->key_type)));
	return table->colocation;
}

/* The group that tables with such a distribution column join by default. */
static int32
default_colocation(Oid funcid, Oid type)
{
	foreach_ptr (const ColocationRow, row,
				 catalog_colocation_by_make(setting_shard_count,
											setting_shard_replication_factor, type,
											get_typcollation(type)))
	{
		if (!colocation_is_private(row->colocationid) &&
			dist_table_oids_of_colocation(row->colocationid) != NIL)
			return row->colocationid;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot distribute the function \"%s\" since there is no table to "
					"colocate with",
					get_func_name(funcid)),
			 errhint("Provide a distributed table via \"colocate_with\" option to "
					 "create_distributed_function()")));
	pg_unreachable();
}

/* create_distributed_function(function, argument, colocate_with, force_delegation) */
Datum
create_distributed_function(PG_FUNCTION_ARGS)
{
	Oid funcid;
	ObjectAddress address;
	ObjectRow *row;
	char *argument = PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1));
	char *with;
	Oid type = InvalidOid;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s must not be null",
							   PG_ARGISNULL(0) ? "function_name" : "colocate_with")));
	funcid = PG_GETARG_OID(0);
	with = text_to_cstring(PG_GETARG_TEXT_PP(2));
	check_function(funcid);
	lead_change(InvalidOid);
	node_rows_lock(RowShareLock);
	ObjectAddressSet(address, ProcedureRelationId, funcid);
	row = catalog_object_new(&address);
	if (argument != NULL)
		row->distribution_argument_index = find_argument(funcid, argument, &type);
	if (!PG_ARGISNULL(3))
		row->force_delegation = PG_GETARG_BOOL(3);
	if (pg_strcasecmp(with, COLOCATE_NONE) == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("a function can only be colocated with tables")));
	if (pg_strcasecmp(with, COLOCATE_DEFAULT) != 0)
		row->colocationid = colocation_of_table(funcid, with, type);
	else if (argument != NULL)
		row->colocationid = default_colocation(funcid, type);
	dependency_ensure(&address);
	node_run_everywhere(object_distribute_command(row));
	PG_RETURN_VOID();
}
