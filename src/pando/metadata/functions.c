/*
 * functions.c: SQL functions that tell what this node knows of tables, shards and nodes.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pando/base/name.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"

PG_FUNCTION_INFO_V1(worker_hash);
PG_FUNCTION_INFO_V1(shard_name);
PG_FUNCTION_INFO_V1(column_to_column_name);
PG_FUNCTION_INFO_V1(column_name_to_column);
PG_FUNCTION_INFO_V1(get_shard_id_for_distribution_column);
PG_FUNCTION_INFO_V1(same_shard);
PG_FUNCTION_INFO_V1(key_hash);
PG_FUNCTION_INFO_V1(distributed_tables_colocated);
PG_FUNCTION_INFO_V1(get_colocated_table_array);
PG_FUNCTION_INFO_V1(get_colocated_shard_array);
PG_FUNCTION_INFO_V1(citus_table_is_visible);
PG_FUNCTION_INFO_V1(relation_shard_id);
PG_FUNCTION_INFO_V1(any_value_transition);
PG_FUNCTION_INFO_V1(citus_version);
PG_FUNCTION_INFO_V1(citus_coordinator_nodeid);
PG_FUNCTION_INFO_V1(citus_is_coordinator);
PG_FUNCTION_INFO_V1(citus_nodename_for_nodeid);
PG_FUNCTION_INFO_V1(citus_nodeport_for_nodeid);

/* ------------------------------------------------------------------------------------
 * Hashes.
 */

/* Type and value of an argument of type "any"; an untyped literal is text. */
static Oid
any_argument(FunctionCallInfo fcinfo, int argument, Datum *value)
{
	Oid type = get_fn_expr_argtype(fcinfo->flinfo, argument);

	*value = PG_GETARG_DATUM(argument);
	if (type == UNKNOWNOID)
	{
		*value = CStringGetTextDatum(DatumGetCString(*value));
		return TEXTOID;
	}
	return type;
}

Datum
worker_hash(PG_FUNCTION_ARGS)
{
	Datum value;
	Oid type = any_argument(fcinfo, 0, &value);
	Oid collation = PG_GET_COLLATION();
	TypeCacheEntry *entry = hashable_type(type);

	if (!OidIsValid(collation))
		collation = entry->typcollation;
	PG_RETURN_INT32(
		DatumGetInt32(FunctionCall1Coll(&entry->hash_proc_finfo, collation, value)));
}

/* A value of any type as one of the distribution column's type. */
static Datum
key_value(const DistTable *table, Datum value, Oid type)
{
	Oid output, input, ioparam;
	bool varlena;

	if (type == table->key_type || getBaseType(table->key_type) == type)
		return value;
	getTypeOutputInfo(type, &output, &varlena);
	getTypeInputInfo(table->key_type, &input, &ioparam);
	return OidInputFunctionCall(input, OidOutputFunctionCall(output, value), ioparam,
								table->key_typmod);
}

Datum
dist_table_key_argument(const DistTable *table, FunctionCallInfo fcinfo, int argument)
{
	Datum value;
	Oid type = any_argument(fcinfo, argument, &value);

	return key_value(table, value, type);
}

Datum
get_shard_id_for_distribution_column(PG_FUNCTION_ARGS)
{
	const DistTable *table;
	bool isnull = PG_ARGISNULL(1);
	Datum value = (Datum) 0;
	int index;

	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("relation cannot be NULL")));
	table = dist_table_require(PG_GETARG_OID(0));
	if (!AttributeNumberIsValid(table->key))
	{
		if (table->nshards == 0 || table->kind == TABLE_APPEND)
			PG_RETURN_NULL();
		PG_RETURN_INT64(table->shards[0].id);
	}
	if (!isnull)
		value = dist_table_key_argument(table, fcinfo, 1);
	index = shard_index_if_any(table, value, isnull);
	if (index < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(table->shards[index].id);
}

/* pando.same_shard(table, value, value) */
Datum
same_shard(PG_FUNCTION_ARGS)
{
	const DistTable *table;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	table = dist_table_require(PG_GETARG_OID(0));
	if (!AttributeNumberIsValid(table->key))
		PG_RETURN_BOOL(true);
	for (int i = 1; i <= 2; i++)
	{
		if (get_fn_expr_argtype(fcinfo->flinfo, i) != table->key_type)
			ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
							errmsg("not a value of the distribution column's type")));
	}
	PG_RETURN_BOOL(shard_index_if_any(table, PG_GETARG_DATUM(1), PG_ARGISNULL(1)) ==
				   shard_index_if_any(table, PG_GETARG_DATUM(2), PG_ARGISNULL(2)));
}

/* pando.key_hash(table, value): by which the table's row with that value in the
 * distribution column is in its shard. */
Datum
key_hash(PG_FUNCTION_ARGS)
{
	const DistTable *table;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	table = dist_table_require(PG_GETARG_OID(0));
	if (table->kind != TABLE_HASH)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("table %s is not distributed by hash",
							   name_qualified(table->relid))));
	if (get_fn_expr_argtype(fcinfo->flinfo, 1) != table->key_type)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("not a value of the distribution column's type")));
	PG_RETURN_INT32(dist_table_hash(table, PG_GETARG_DATUM(1), PG_ARGISNULL(1)));
}

/* ------------------------------------------------------------------------------------
 * Names.
 */

Datum
shard_name(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	int64 shard_id = PG_GETARG_INT64(1);
	bool skip_public = PG_GETARG_BOOL(2);
	char *name = get_rel_name(relid);
	const DistTable *table = dist_table(relid);

	if (shard_id <= 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("shard id must be greater than zero")));
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE), errmsg("object_name does not exist")));
	if (table == NULL || !table->managed_local)
		name = name_shard(name, shard_id);
	PG_RETURN_TEXT_P(
		cstring_to_text(skip_public && get_rel_namespace(relid) == PG_PUBLIC_NAMESPACE
							? quote_identifier(name)
							: quote_qualified_identifier(
								  get_namespace_name(get_rel_namespace(relid)), name)));
}

/* The metadata holds columns by name, so these two only check that the column is there.
 */
static Datum
column_checked(Oid relid, text *name)
{
	char *column = text_to_cstring(name);

	if (get_attnum(relid, column) == InvalidAttrNumber)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						errmsg("column \"%s\" of relation \"%s\" does not exist", column,
							   get_rel_name(relid))));
	return PointerGetDatum(name);
}

Datum
column_to_column_name(PG_FUNCTION_ARGS)
{
	return column_checked(PG_GETARG_OID(0), PG_GETARG_TEXT_PP(1));
}

Datum
column_name_to_column(PG_FUNCTION_ARGS)
{
	return column_checked(PG_GETARG_OID(0), PG_GETARG_TEXT_PP(1));
}

/* Shard id of a shard's table on this node; NULL for any other relation, and for one that
 * only has a shard's name. */
Datum
relation_shard_id(PG_FUNCTION_ARGS)
{
	int64 shard_id;

	if (!relation_is_shard(PG_GETARG_OID(0), &shard_id, NULL) ||
		!relation_has_shell_rights(PG_GETARG_OID(0)))
		PG_RETURN_NULL();
	PG_RETURN_INT64(shard_id);
}

/* As pg_table_is_visible(), and not a shard. */
Datum
citus_table_is_visible(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);

	if (get_rel_name(relid) == NULL)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(RelationIsVisible(relid) && !relation_is_shard(relid, NULL, NULL));
}

/* ------------------------------------------------------------------------------------
 * Colocation.
 */

static int
compare_oids(const ListCell *a, const ListCell *b)
{
	return list_oid_cmp(a, b);
}

/* Tables colocated with a table, itself included, in order of OID. */
static List *
colocated_tables(const DistTable *table)
{
	List *oids = NIL;
	List *candidates = list_make1_oid(table->relid);
	ListCell *cell;

	if (table->colocation > 0)
		candidates = dist_table_oids_of_colocation(table->colocation);
	foreach (cell, candidates)
	{
		const DistTable *other = dist_table(lfirst_oid(cell));

		if (other != NULL && dist_table_colocated(table, other))
			oids = lappend_oid(oids, other->relid);
	}
	list_sort(oids, compare_oids);
	return oids;
}

Datum
distributed_tables_colocated(PG_FUNCTION_ARGS)
{
	const DistTable *a = dist_table_require(PG_GETARG_OID(0));
	const DistTable *b = dist_table_require(PG_GETARG_OID(1));

	PG_RETURN_BOOL(dist_table_colocated(a, b));
}

Datum
get_colocated_table_array(PG_FUNCTION_ARGS)
{
	List *oids = colocated_tables(dist_table_require(PG_GETARG_OID(0)));
	Datum *values = palloc(sizeof(Datum) * list_length(oids));
	int n = 0;
	ListCell *cell;

	foreach (cell, oids)
		values[n++] = ObjectIdGetDatum(lfirst_oid(cell));
	PG_RETURN_ARRAYTYPE_P(
		construct_array(values, n, REGCLASSOID, sizeof(Oid), true, TYPALIGN_INT));
}

Datum
get_colocated_shard_array(PG_FUNCTION_ARGS)
{
	int64 shard_id = PG_GETARG_INT64(0);
	const DistTable *table;
	const Shard *shard = shard_by_id(shard_id, &table);
	List *oids;
	Datum *values;
	int n = 0;
	ListCell *cell;

	if (shard == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("shard " INT64_FORMAT " does not exist", shard_id)));
	oids = colocated_tables(table);
	values = palloc(sizeof(Datum) * list_length(oids));
	foreach (cell, oids)
	{
		const DistTable *other = dist_table_require(lfirst_oid(cell));

		if (shard->index < other->nshards)
			values[n++] = Int64GetDatum(other->shards[shard->index].id);
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(values, n, INT8OID, sizeof(int64),
										  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* ------------------------------------------------------------------------------------
 * Nodes, version, any_value.
 */

Datum
citus_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(
		cstring_to_text(psprintf("Pando %s on %s", PANDO_VERSION, PG_VERSION_STR)));
}

Datum
citus_coordinator_nodeid(PG_FUNCTION_ARGS)
{
	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
		if (node->group == COORDINATOR_GROUP)
			PG_RETURN_INT32(node->id);
	PG_RETURN_INT32(-1);
}

Datum
citus_is_coordinator(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(node_is_coordinator());
}

Datum
citus_nodename_for_nodeid(PG_FUNCTION_ARGS)
{
	const DistNode *node = node_by_id(PG_GETARG_INT32(0));

	if (node == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(node->host));
}

Datum
citus_nodeport_for_nodeid(PG_FUNCTION_ARGS)
{
	const DistNode *node = node_by_id(PG_GETARG_INT32(0));

	if (node == NULL)
		PG_RETURN_NULL();
	PG_RETURN_INT32(node->port);
}

/* Strict, so the first value that is not NULL becomes the state and stays. */
Datum
any_value_transition(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}
