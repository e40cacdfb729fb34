/*
 * schema.c: distributed schemas: all tables of one are single-shard tables of one
 * colocation group, and so are on one node together.
 *
 * pg_dist_schema names the group, which is made with the row: a schema may be empty. A
 * table that comes into such a schema, by CREATE TABLE, CREATE TABLE AS or SET SCHEMA,
 * joins at once; one that leaves it becomes a local table first. colocation_choose()
 * knows the group of a table's schema, so create_distributed_table() with NULL is all
 * that is to be done.
 *
 * Locks: pg_dist_colocation (colocation.h) while a table joins; rows of pg_dist_schema
 * change together with DDL of the schema's owner.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/dependency.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/base/hook.h"
#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/schema.h"
#include "pando/cluster/colocation.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/schema.h"
#include "pando/cluster/table_functions.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/settings.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

PG_FUNCTION_INFO_V1(citus_schema_distribute);
PG_FUNCTION_INFO_V1(citus_schema_undistribute);

static bool distribute_new_schemas = false;

/* ------------------------------------------------------------------------------------
 * Schemas.
 */

static char *
schema_name(Oid schema)
{
	char *name = get_namespace_name(schema);

	if (name == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA),
						errmsg("schema with OID %u does not exist", schema)));
	return name;
}

static void
check_schema(Oid schema)
{
	char *name = schema_name(schema);

	if (!compat_owns_schema(schema, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_SCHEMA, name);
	if (IsCatalogNamespace(schema) || isAnyTempNamespace(schema) ||
		IsToastNamespace(schema) || strcmp(name, "information_schema") == 0 ||
		OidIsValid(getExtensionOfObject(NamespaceRelationId, schema)))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("schema \"%s\" cannot be distributed", name),
						errdetail("It belongs to the system or to an extension.")));
}

/* Raises if the schema has something that can't join. */
static void
check_content(Oid schema)
{
	char *table = sql_value(
		"SELECT c.relname FROM pg_catalog.pg_class c LEFT JOIN "
		"pg_catalog.pg_dist_partition p ON p.logicalrelid = c.oid WHERE c.relnamespace = "
		"%u AND (c.relkind = 'f' OR (p.logicalrelid IS NOT NULL AND "
		"pando.table_type(c.oid) <> 'local')) ORDER BY 1 LIMIT 1",
		schema);

	if (table != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("schema \"%s\" cannot be distributed because of table \"%s\"",
						schema_name(schema), table),
				 errdetail("It is a foreign table, or distributed by itself."),
				 errhint("Undistribute it, or move it to another schema.")));
}

static void
distribute_table(Oid relid)
{
	(void) sql_run_as_is(psprintf("SELECT pg_catalog.create_distributed_table("
								  "%u::pg_catalog.oid::pg_catalog.regclass, NULL)",
								  relid));
	CommandCounterIncrement();
}

/* The next table that is to join the group: those that it references have, if possible.
 */
static char *
next_to_join(Oid schema, int32 colocation)
{
	return sql_value(
		"SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relnamespace = %u AND c.relkind "
		"IN ('r', 'p') AND NOT c.relispartition AND NOT EXISTS (SELECT FROM "
		"pg_catalog.pg_dist_partition p WHERE p.logicalrelid = c.oid AND p.colocationid "
		"= %d) ORDER BY EXISTS (SELECT FROM pg_catalog.pg_constraint k JOIN "
		"pg_catalog.pg_class o ON o.oid = k.confrelid WHERE k.contype = 'f' AND "
		"k.conrelid = c.oid AND o.oid <> c.oid AND o.relnamespace = c.relnamespace AND "
		"NOT EXISTS (SELECT FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = "
		"o.oid AND p.colocationid = %d)), c.oid LIMIT 1",
		schema, colocation, colocation);
}

static void
register_schema(Oid schema, int32 colocation)
{
	node_run_everywhere(
		psprintf("SELECT pando.schema_register(%s::pg_catalog.regnamespace, %d)",
				 quote_literal_cstr(quote_identifier(schema_name(schema))), colocation));
}

static void
schema_distribute(Oid schema)
{
	TableSpec spec = {
		.kind = TABLE_SINGLE, .shard_count = 1, .replication = 1, .new_colocation = true};
	ObjectAddress address;
	char *relid;

	check_content(schema);
	node_rows_lock(RowShareLock);
	node_row_ensure_coordinator(true);
	ObjectAddressSet(address, NamespaceRelationId, schema);
	dependency_ensure(&address);
	colocation_register_new(&spec);
	register_schema(schema, spec.colocation);
	while ((relid = next_to_join(schema, spec.colocation)) != NULL)
		distribute_table(atooid(relid));
}

/* citus_schema_distribute(schema) */
Datum
citus_schema_distribute(PG_FUNCTION_ARGS)
{
	Oid schema = PG_GETARG_OID(0);

	node_require_coordinator();
	check_schema(schema);
	if (catalog_schema_colocation(schema) != 0)
		ereport(NOTICE,
				(errmsg("schema \"%s\" is already distributed", schema_name(schema))));
	else
		schema_distribute(schema);
	PG_RETURN_VOID();
}

/* citus_schema_undistribute(schema) */
Datum
citus_schema_undistribute(PG_FUNCTION_ARGS)
{
	Oid schema = PG_GETARG_OID(0);
	int32 colocation;
	List *relids;

	node_require_coordinator();
	check_schema(schema);
	colocation = catalog_schema_colocation(schema);
	if (colocation == 0)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("schema \"%s\" is not distributed", schema_name(schema))));
	relids = dist_table_oids_of_colocation(colocation);
	if (relids != NIL)
		tables_undistribute(relids);
	register_schema(schema, 0);
	colocation_drop_if_empty(colocation);
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Tables that come and go.
 */

/* The relation that a statement makes a table of; NULL for other statements. */
static const RangeVar *
table_to_be(const Node *stmt)
{
	if (IsA(stmt, CreateStmt))
		return ((const CreateStmt *) stmt)->relation;
	if (IsA(stmt, CreateTableAsStmt) &&
		((const CreateTableAsStmt *) stmt)->objtype == OBJECT_TABLE)
		return ((const CreateTableAsStmt *) stmt)->into->rel;
	return NULL;
}

static void
new_table(const RangeVar *relation)
{
	Oid relid = RangeVarGetRelid(relation, AccessShareLock, true);
	Relation rel;
	bool joins;

	if (!OidIsValid(relid) || catalog_schema_colocation(get_rel_namespace(relid)) == 0)
		return;
	rel = table_open(relid, NoLock);
	joins =
		rel->rd_createSubid != InvalidSubTransactionId && !rel->rd_rel->relispartition &&
		rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP && dist_table(relid) == NULL;
	table_close(rel, NoLock);
	if (!joins)
		return;
	node_require_coordinator();
	distribute_table(relid);
}

static void
new_schema(const CreateSchemaStmt *stmt)
{
	const char *name = stmt->schemaname;
	Oid schema;

	if (name == NULL)
		name = get_rolespec_name(stmt->authrole);
	schema = get_namespace_oid(name, true);
	if (OidIsValid(schema) && catalog_schema_colocation(schema) == 0 &&
		compat_owns_schema(schema, GetUserId()))
	{
		node_require_coordinator();
		schema_distribute(schema);
	}
}

/* A table that is going to another schema leaves a distributed one; returns it. */
static Oid
leave_schema(const AlterObjectSchemaStmt *stmt)
{
	Oid relid;
	Oid schema;
	int32 colocation;

	if (stmt->objectType != OBJECT_TABLE || stmt->relation == NULL)
		return InvalidOid;
	relid = RangeVarGetRelid(stmt->relation, AccessShareLock, true);
	schema = get_namespace_oid(stmt->newschema, true);
	if (!OidIsValid(relid) || !OidIsValid(schema) || schema == get_rel_namespace(relid) ||
		get_rel_relispartition(relid))
		return InvalidOid;
	colocation = catalog_schema_colocation(get_rel_namespace(relid));
	if (colocation != 0 && dist_table(relid) != NULL &&
		dist_table(relid)->colocation == colocation)
	{
		node_require_coordinator();
		tables_undistribute(list_make1_oid(relid));
	}
	return relid;
}

static void
join_schema(Oid relid)
{
	if (!OidIsValid(relid) || catalog_schema_colocation(get_rel_namespace(relid)) == 0)
		return;
	node_require_coordinator();
	if (dist_table(relid) != NULL && !dist_table(relid)->managed_local)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("table %s cannot be in a distributed schema",
							   name_qualified(relid)),
						errdetail("It is distributed by itself."),
						errhint("Undistribute it first.")));
	distribute_table(relid);
}

static void
schema_utility(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
			   ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *env,
			   DestReceiver *dest, QueryCompletion *qc)
{
	Node *stmt = pstmt->utilityStmt;
	bool ours = (table_to_be(stmt) != NULL || IsA(stmt, CreateSchemaStmt) ||
				 IsA(stmt, AlterObjectSchemaStmt)) &&
				!creating_extension && !utility_is_applying() && !utility_is_internal() &&
				ddl_propagation_enabled && metadata_active();
	Oid moved = InvalidOid;

	/* The tree may be changed while the statement runs. */
	stmt = ours ? copyObject(stmt) : NULL;
	if (ours && IsA(stmt, AlterObjectSchemaStmt))
		moved = leave_schema((AlterObjectSchemaStmt *) stmt);
	hook_utility_next(UTILITY_SCHEMA, pstmt, query_string, read_only_tree, context,
					  params, env, dest, qc);
	if (!ours)
		return;
	CommandCounterIncrement();
	if (table_to_be(stmt) != NULL)
		new_table(table_to_be(stmt));
	else if (IsA(stmt, AlterObjectSchemaStmt))
		join_schema(moved);
	else if (distribute_new_schemas)
		new_schema((CreateSchemaStmt *) stmt);
}

void
schema_init(void)
{
	DefineCustomBoolVariable(
		"citus.enable_schema_based_sharding",
		"Makes new schemas distributed: all tables of one are on one node.", NULL,
		&distribute_new_schemas, false, PGC_USERSET, 0, NULL, NULL, NULL);
	hook_utility(UTILITY_SCHEMA, schema_utility);
}
