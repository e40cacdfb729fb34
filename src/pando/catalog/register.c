/*
 * register.c: SQL functions by which the coordinator makes the same metadata on every
 * node.
 *
 * They run on a node as the user whose statement caused the change, and only nodes call
 * them: who could write metadata by hand could make his table's shards of what belongs
 * to others, since a shard is read with the rights that its shell gives. How a node
 * proves itself is known to a higher layer, which sets a guard. Rights are checked here
 * all the same: a table's rows belong to the table's owner, for catalog writes ask
 * nobody. Colocation groups, which belong to no table, may be added for anyone, as CREATE
 * TABLE may, but never changed or taken from under something that uses them.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pando/base/sql.h"
#include "pando/catalog/colocation.h"
#include "pando/catalog/drop.h"
#include "pando/catalog/partition.h"
#include "pando/catalog/placement.h"
#include "pando/catalog/register.h"
#include "pando/catalog/schema.h"
#include "pando/catalog/shard.h"

PG_FUNCTION_INFO_V1(table_register);
PG_FUNCTION_INFO_V1(table_unregister);
PG_FUNCTION_INFO_V1(table_set_colocation);
PG_FUNCTION_INFO_V1(table_set_key);
PG_FUNCTION_INFO_V1(shards_register);
PG_FUNCTION_INFO_V1(shards_unregister);
PG_FUNCTION_INFO_V1(placements_register);
PG_FUNCTION_INFO_V1(placement_set_group);
PG_FUNCTION_INFO_V1(placement_unregister);
PG_FUNCTION_INFO_V1(colocation_register);
PG_FUNCTION_INFO_V1(colocation_unregister);
PG_FUNCTION_INFO_V1(schema_register);
PG_FUNCTION_INFO_V1(schema_unregister);

/* ------------------------------------------------------------------------------------
 * Rights and arguments.
 */

static void (*guard)(const char *function) = NULL;

void
register_set_guard(void (*require_node)(const char *function))
{
	guard = require_node;
}

/* Raises unless the current user owns the table; one that is gone has no owner to ask. */
static void
register_require_owner(Oid relid)
{
	char *name = get_rel_name(relid);

	if (name == NULL)
		return;
	if (!compat_owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)),
					   name);
}

static PartitionRow *
register_table_row(Oid relid)
{
	PartitionRow *row = catalog_partition_by_relid(relid);

	if (row == NULL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
						errmsg("table %s is not distributed", get_rel_name(relid))));
	return row;
}

static ShardRow *
register_shard_row(int64 shardid)
{
	ShardRow *row = catalog_shard_by_id(shardid);

	if (row == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("shard " INT64_FORMAT " does not exist", shardid)));
	register_require_owner(row->logicalrelid);
	return row;
}

static PlacementRow *
register_placement_row(int64 placementid)
{
	PlacementRow *row = catalog_placement_by_id(placementid);

	if (row == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("placement " INT64_FORMAT " does not exist", placementid)));
	register_shard_row(row->shardid);
	return row;
}

/* For functions that take NULL for some arguments: raises for the others, a bit each. */
static void
register_require_arguments(FunctionCallInfo fcinfo, int optional)
{
	for (int i = 0; i < PG_NARGS(); i++)
		if (PG_ARGISNULL(i) && (optional & (1 << i)) == 0)
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("argument %d must not be null", i + 1)));
}

/* Elements of an array argument; raises unless there are `expected` (-1: any number). */
static int
register_array(ArrayType *array, Oid type, int expected, Datum **values, bool **nulls)
{
	int16 length;
	bool byval;
	char align;
	int n;

	get_typlenbyvalalign(type, &length, &byval, &align);
	deconstruct_array(array, type, length, byval, align, values, nulls, &n);
	if (expected >= 0 && n != expected)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("array arguments differ in length")));
	return n;
}

static char *
register_text(Datum *values, bool *nulls, int i)
{
	return nulls[i] ? NULL : TextDatumGetCString(values[i]);
}

/* ------------------------------------------------------------------------------------
 * Tables.
 */

/* table_register(rel, partmethod, distribution column, colocation id, repmodel) */
Datum
table_register(PG_FUNCTION_ARGS)
{
	PartitionRow row = {0};

	guard("pando.table_register()");
	register_require_arguments(fcinfo, 1 << 2);
	row.logicalrelid = PG_GETARG_OID(0);
	row.partmethod = PG_GETARG_CHAR(1);
	row.partkey = PG_ARGISNULL(2) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(2));
	row.colocationid = PG_GETARG_INT32(3);
	row.repmodel = PG_GETARG_CHAR(4);
	row.autoconverted = PG_GETARG_BOOL(5);

	register_require_owner(row.logicalrelid);
	if (row.partkey != NULL &&
		get_attnum(row.logicalrelid, row.partkey) == InvalidAttrNumber)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						errmsg("column \"%s\" of relation \"%s\" does not exist",
							   row.partkey, get_rel_name(row.logicalrelid))));
	if (!catalog_partition_update(&row))
		catalog_partition_insert(&row);
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

Datum
table_unregister(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);

	guard("pando.table_unregister()");
	register_require_owner(relid);
	catalog_forget_table(relid);
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

Datum
table_set_colocation(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	PartitionRow *row;

	guard("pando.table_set_colocation()");
	register_require_owner(relid);
	row = register_table_row(relid);
	row->colocationid = PG_GETARG_INT32(1);
	catalog_partition_update(row);
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

/* After the distribution column was renamed. */
Datum
table_set_key(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	PartitionRow *row;

	guard("pando.table_set_key()");
	register_require_owner(relid);
	row = register_table_row(relid);
	row->partkey = text_to_cstring(PG_GETARG_TEXT_PP(1));
	catalog_partition_update(row);
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Shards and placements.
 */

/* shards_register(rel, shard ids, lowest hash values, highest hash values) */
Datum
shards_register(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	Datum *ids, *mins, *maxs;
	bool *id_nulls, *min_nulls, *max_nulls;
	int n = register_array(PG_GETARG_ARRAYTYPE_P(1), INT8OID, -1, &ids, &id_nulls);

	guard("pando.shards_register()");
	register_array(PG_GETARG_ARRAYTYPE_P(2), TEXTOID, n, &mins, &min_nulls);
	register_array(PG_GETARG_ARRAYTYPE_P(3), TEXTOID, n, &maxs, &max_nulls);
	register_require_owner(relid);
	register_table_row(relid);
	for (int i = 0; i < n; i++)
	{
		ShardRow row = {0};

		row.logicalrelid = relid;
		row.shardid = DatumGetInt64(ids[i]);
		row.shardstorage = SHARDSTORAGE_TABLE;
		row.shardminvalue = register_text(mins, min_nulls, i);
		row.shardmaxvalue = register_text(maxs, max_nulls, i);
		catalog_shard_insert(&row);
	}
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

Datum
shards_unregister(PG_FUNCTION_ARGS)
{
	Datum *ids;
	bool *nulls;
	int n = register_array(PG_GETARG_ARRAYTYPE_P(0), INT8OID, -1, &ids, &nulls);

	guard("pando.shards_unregister()");
	for (int i = 0; i < n; i++)
	{
		register_shard_row(DatumGetInt64(ids[i]));
		catalog_forget_shard(DatumGetInt64(ids[i]));
	}
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

/* placements_register(placement ids, shard ids, groups) */
Datum
placements_register(PG_FUNCTION_ARGS)
{
	Datum *ids, *shards, *groups;
	bool *nulls;
	int n = register_array(PG_GETARG_ARRAYTYPE_P(0), INT8OID, -1, &ids, &nulls);

	guard("pando.placements_register()");
	register_array(PG_GETARG_ARRAYTYPE_P(1), INT8OID, n, &shards, &nulls);
	register_array(PG_GETARG_ARRAYTYPE_P(2), INT4OID, n, &groups, &nulls);
	for (int i = 0; i < n; i++)
	{
		PlacementRow row = {0};

		row.placementid = DatumGetInt64(ids[i]);
		row.shardid = DatumGetInt64(shards[i]);
		row.groupid = DatumGetInt32(groups[i]);
		row.shardstate = PLACEMENT_ACTIVE;
		register_shard_row(row.shardid);
		catalog_placement_insert(&row);
	}
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

Datum
placement_set_group(PG_FUNCTION_ARGS)
{
	PlacementRow *row;

	guard("pando.placement_set_group()");
	row = register_placement_row(PG_GETARG_INT64(0));
	row->groupid = PG_GETARG_INT32(1);
	catalog_placement_update(row);
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

Datum
placement_unregister(PG_FUNCTION_ARGS)
{
	PlacementRow *row;

	guard("pando.placement_unregister()");
	row = register_placement_row(PG_GETARG_INT64(0));
	catalog_placement_delete(row->placementid);
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Colocation groups.
 */

static void
change_private(const char *sql, int32 colocation)
{
	OwnerScope scope;

	owner_enter(&scope);
	sql_run("%s", psprintf(sql, colocation));
	owner_leave(&scope);
}

static bool
colocation_equal(const ColocationRow *a, const ColocationRow *b)
{
	return a->shardcount == b->shardcount &&
		   a->replicationfactor == b->replicationfactor &&
		   a->distributioncolumntype == b->distributioncolumntype &&
		   a->distributioncolumncollation == b->distributioncolumncollation;
}

/*
 * colocation_register(id, shard count, replication factor, type, collation, private): the
 * type and collation may be NULL; tables that name no group don't join a private one. A
 * group that is there already must be the same, or be without tables, or the caller a
 * superuser.
 */
Datum
colocation_register(PG_FUNCTION_ARGS)
{
	ColocationRow row = {0};
	ColocationRow *present;

	guard("pando.colocation_register()");
	register_require_arguments(fcinfo, 1 << 3 | 1 << 4);
	row.colocationid = PG_GETARG_INT32(0);
	row.shardcount = PG_GETARG_INT32(1);
	row.replicationfactor = PG_GETARG_INT32(2);
	row.distributioncolumntype = PG_ARGISNULL(3) ? InvalidOid : PG_GETARG_OID(3);
	row.distributioncolumncollation = PG_ARGISNULL(4) ? InvalidOid : PG_GETARG_OID(4);

	present = catalog_colocation_by_id(row.colocationid);
	if (present == NULL)
	{
		catalog_colocation_insert(&row);
		if (PG_GETARG_BOOL(5))
			change_private("INSERT INTO pando.colocation_private VALUES (%d)",
						   row.colocationid);
	}
	else if (!colocation_equal(present, &row))
	{
		if (!superuser() && catalog_partition_by_colocation(row.colocationid) != NIL)
			ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
							errmsg("must be superuser to change colocation group %d",
								   row.colocationid)));
		catalog_colocation_update(&row);
	}
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

Datum
colocation_unregister(PG_FUNCTION_ARGS)
{
	int32 id = PG_GETARG_INT32(0);

	guard("pando.colocation_unregister()");
	if (catalog_partition_by_colocation(id) != NIL)
		ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
						errmsg("colocation group %d has tables", id)));
	catalog_colocation_delete(id);
	change_private("DELETE FROM pando.colocation_private WHERE colocationid = %d", id);
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Distributed schemas.
 */

/* Its owner; and nobody makes a table in it until the transaction ends. */
static void
hold_schema(Oid schemaid)
{
	catalog_schema_require_owner(schemaid);
	LockDatabaseObject(NamespaceRelationId, schemaid, 0, AccessExclusiveLock);
}

/* schema_register(schema, colocation id): new tables of the schema join that group. */
Datum
schema_register(PG_FUNCTION_ARGS)
{
	Oid schemaid = PG_GETARG_OID(0);

	guard("pando.schema_register()");
	hold_schema(schemaid);
	catalog_schema_insert(schemaid, PG_GETARG_INT32(1));
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

/* schema_unregister(schema): its tables are tables as others are. */
Datum
schema_unregister(PG_FUNCTION_ARGS)
{
	guard("pando.schema_unregister()");
	hold_schema(PG_GETARG_OID(0));
	catalog_schema_delete(PG_GETARG_OID(0));
	CommandCounterIncrement();
	PG_RETURN_VOID();
}
