/*
 * schema.c: distributed schemas (see the header).
 *
 * pg_dist_schema says on all nodes which schemas are distributed, and the number of their
 * groups. A schema becomes one by citus_schema_distribute(), or when it is made while
 * citus.enable_schema_based_sharding is on. Whoever changes that holds the schema on all
 * nodes, so that nobody makes a table in it meanwhile: CREATE TABLE locks it in share
 * mode before it asks here.
 *
 * The first table of an empty group chooses its node, as single-shard tables do: by the
 * group's number, so that schemas spread over the nodes.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "pando/base/hook.h"
#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/partition.h"
#include "pando/catalog/schema.h"
#include "pando/cluster/colocation.h"
#include "pando/cluster/convert.h"
#include "pando/cluster/local_table.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/partitions.h"
#include "pando/cluster/schema.h"
#include "pando/cluster/table_check.h"
#include "pando/cluster/table_functions.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

PG_FUNCTION_INFO_V1(citus_schema_distribute);
PG_FUNCTION_INFO_V1(citus_schema_undistribute);

static bool distribute_new_schemas = false;

/* ------------------------------------------------------------------------------------
 * Questions
 */

static int32
colocation_of(Oid relid)
{
	return catalog_schema_colocation(get_rel_namespace(relid));
}

void
schema_refuse_table(Oid relid, const char *what)
{
	if (colocation_of(relid) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot %s %s because it belongs to a distributed schema", what,
						name_qualified(relid)),
				 errhint("Set its schema to one that is not distributed, or undistribute "
						 "the schema with citus_schema_undistribute().")));
}

void
schema_check_partition(Oid relid, Oid parent)
{
	if (get_rel_namespace(relid) != get_rel_namespace(parent) &&
		(colocation_of(relid) != 0 || colocation_of(parent) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s cannot be a partition of %s", name_qualified(relid),
						name_qualified(parent)),
				 errdetail("A table of a distributed schema and its partitions are in "
						   "the same schema.")));
}

static void
refuse_schema(Oid schemaid, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot distribute schema \"%s\"", get_namespace_name(schemaid)),
			 errdetail("%s", detail), hint != NULL ? errhint("%s", hint) : 0));
}

/* May the schema be distributed, as far as itself is concerned? */
static void
check_schema(Oid schemaid)
{
	char *name = get_namespace_name(schemaid);

	if (IsCatalogNamespace(schemaid) || IsToastNamespace(schemaid) ||
		isAnyTempNamespace(schemaid) || strcmp(name, "information_schema") == 0 ||
		strcmp(name, "citus") == 0 || strcmp(name, "pando") == 0)
		refuse_schema(schemaid, "It is a schema of the system.", NULL);
	if (strcmp(name, "public") == 0)
		refuse_schema(schemaid, "It is the schema \"public\", which all use.",
					  "Distribute schemas of tenants.");
	if (OidIsValid(getExtensionOfObject(NamespaceRelationId, schemaid)))
		refuse_schema(schemaid, "It is an extension's.", NULL);
}

/* ------------------------------------------------------------------------------------
 * Tables of a schema
 */

/* A partition, or its table, that is in another schema than the other. */
static void
check_partitions(Oid relid)
{
	foreach_oid(member, partition_tree(relid, AccessShareLock))
	{
		if (get_rel_namespace(member) != get_rel_namespace(relid))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot distribute %s in its schema", name_qualified(relid)),
					 errdetail("Its partition %s is in another schema.",
							   name_qualified(member))));
	}
}

/*
 * The tables that the schema's group is to have, in the order of locks, without
 * partitions of them: ordinary ones that no extension brought.
 */
static List *
tables_to_distribute(Oid schemaid)
{
	List *relids = NIL;

	foreach_ptr (char, text,
				 sql_column("SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = %u "
							"AND relkind IN ('r', 'p') ORDER BY oid",
							schemaid))
	{
		Oid relid = atooid(text);
		const DistTable *table = dist_table(relid);

		if (OidIsValid(getExtensionOfObject(RelationRelationId, relid)))
			continue;
		if (table != NULL && !table->managed_local)
			refuse_schema(
				schemaid,
				psprintf("Its table %s is distributed already.", name_qualified(relid)),
				"Undistribute it first, with undistribute_table().");
		if (!get_rel_relispartition(relid))
		{
			check_partitions(relid);
			relids = lappend_oid(relids, relid);
		}
		else if (get_rel_namespace(table_root(relid)) != schemaid)
			refuse_schema(
				schemaid,
				psprintf("Its table %s is a partition of one in another schema.",
						 name_qualified(relid)),
				NULL);
	}
	return relids;
}

/* ------------------------------------------------------------------------------------
 * Distributing, and back
 */

static char *
schema_literal(Oid schemaid)
{
	return quote_literal_cstr(quote_identifier(get_namespace_name(schemaid)));
}

static void
distribute_schema(Oid schemaid)
{
	TableSpec group = {
		.kind = TABLE_SINGLE, .shard_count = 1, .replication = 1, .new_colocation = true};
	ObjectAddress address;

	check_schema(schemaid);
	table_change_begin(InvalidOid);
	LockDatabaseObject(NamespaceRelationId, schemaid, 0, AccessExclusiveLock);
	if (catalog_schema_colocation(schemaid) != 0)
	{
		ereport(NOTICE, (errmsg("schema \"%s\" is already distributed",
								get_namespace_name(schemaid))));
		return;
	}
	ObjectAddressSet(address, NamespaceRelationId, schemaid);
	dependency_ensure(&address);
	colocation_register_new(&group);
	node_run_everywhere(
		psprintf("SELECT pando.schema_register(%s::pg_catalog.regnamespace, %d)",
				 schema_literal(schemaid), group.colocation));
	tables_join_group(tables_to_distribute(schemaid), group.colocation);
}

/* citus_schema_distribute(schema): its tables become one shard group, new ones join. */
Datum
citus_schema_distribute(PG_FUNCTION_ARGS)
{
	catalog_schema_require_owner(PG_GETARG_OID(0));
	distribute_schema(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}

/* Does a foreign key lead from the table to one that stays distributed? */
static bool
refers_to_reference_table(Oid relid)
{
	foreach_oid(neighbour, table_foreign_key_neighbours(relid))
	{
		const DistTable *table = dist_table(neighbour);

		if (table != NULL && table->kind == TABLE_REFERENCE)
			return true;
	}
	return false;
}

/*
 * The tables become local ones: managed, where that keeps what their foreign keys say.
 */
static void
make_local(List *relids)
{
	List *managed = NIL;

	foreach_oid(relid, relids)
	{
		if (refers_to_reference_table(relid) && !list_member_oid(managed, relid))
			managed = list_concat_unique_oid(managed,
											 partitions_complete(list_make1_oid(relid)));
	}
	if (managed != NIL)
		node_require_coordinator(); /* whose the managed tables are */
	if (relids != NIL)
		convert_undistribute(relids, false);
	local_tables_manage(managed);
}

static List *
tables_of_group(int32 colocation)
{
	List *relids = NIL;

	foreach_ptr (PartitionRow, row, catalog_partition_by_colocation(colocation))
		relids = lappend_oid(relids, row->logicalrelid);
	list_sort(relids, list_oid_cmp);
	return relids;
}

/* citus_schema_undistribute(schema): its tables become local ones of this node. */
Datum
citus_schema_undistribute(PG_FUNCTION_ARGS)
{
	Oid schemaid = PG_GETARG_OID(0);
	List *relids;
	int32 colocation;

	catalog_schema_require_owner(schemaid);
	table_change_begin(InvalidOid);
	LockDatabaseObject(NamespaceRelationId, schemaid, 0, AccessExclusiveLock);
	colocation = catalog_schema_colocation(schemaid);
	if (colocation == 0)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("schema \"%s\" is not distributed",
							   get_namespace_name(schemaid))));
	relids = tables_of_group(colocation);
	foreach_oid(relid, relids) table_change_begin(relid);
	node_run_everywhere(
		psprintf("SELECT pando.schema_unregister(%s::pg_catalog.regnamespace)",
				 schema_literal(schemaid)));
	make_local(relids);
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Tables that come and go
 */

bool
schema_take_table(Oid relid)
{
	int32 colocation = colocation_of(relid);

	if (colocation == 0 || get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE)
		return false;
	table_change_begin(relid);
	tables_join_group(list_make1_oid(relid), colocation);
	return true;
}

/* ALTER TABLE ... SET SCHEMA, of a table from or to a distributed schema. */
typedef struct Journey
{
	Oid relid; /* InvalidOid: the statement is none of that */
	Oid target;
} Journey;

static void
refuse_journey(Oid relid, const char *detail, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot set the schema of %s", name_qualified(relid)),
					errdetail("%s", detail), hint != NULL ? errhint("%s", hint) : 0));
}

/* What PostgreSQL itself would refuse is left to it. */
static Journey
journey_of(const AlterObjectSchemaStmt *stmt)
{
	Journey journey = {InvalidOid, InvalidOid};
	Oid relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	char relkind = OidIsValid(relid) ? get_rel_relkind(relid) : '\0';

	journey.target = get_namespace_oid(stmt->newschema, true);
	if ((relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE) &&
		OidIsValid(journey.target) && get_rel_namespace(relid) != journey.target &&
		compat_owns_relation(relid, GetUserId()) &&
		(colocation_of(relid) != 0 || catalog_schema_colocation(journey.target) != 0))
		journey.relid = relid;
	return journey;
}

/* Before PostgreSQL moves the table to the other schema it becomes a local one. */
static void
depart(const Journey *journey)
{
	Oid relid = journey->relid;
	const DistTable *table = dist_table(relid);

	if (get_rel_relispartition(relid) || has_subclass(relid))
		refuse_journey(relid,
					   "A table of a distributed schema and its partitions are in the "
					   "same schema.",
					   "Detach the partitions first.");
	if (colocation_of(relid) == 0)
	{
		if (table != NULL && !table->managed_local)
			refuse_journey(
				relid, "It is distributed otherwise than the tables of the new schema.",
				"Undistribute it first, with undistribute_table().");
		return;
	}
	if (table == NULL)
		return;
	table_change_begin(relid);
	foreach_oid(neighbour, table_foreign_key_neighbours(relid))
	{
		if (dist_table(neighbour) != NULL &&
			dist_table(neighbour)->colocation == table->colocation)
			refuse_journey(relid,
						   psprintf("A foreign key connects it with %s, which stays in "
									"the distributed schema.",
									name_qualified(neighbour)),
						   "Drop the foreign key first.");
	}
	make_local(list_make1_oid(relid));
}

static void
set_schema(PlannedStmt *pstmt, const char *text, bool read_only_tree,
		   ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *env,
		   DestReceiver *dest, QueryCompletion *qc)
{
	Journey journey = journey_of((AlterObjectSchemaStmt *) pstmt->utilityStmt);

	if (OidIsValid(journey.relid))
		depart(&journey);
	hook_utility_next(UTILITY_SCHEMA, pstmt, text, read_only_tree, context, params, env,
					  dest, qc);
	if (!OidIsValid(journey.relid) || catalog_schema_colocation(journey.target) == 0)
		return;
	CommandCounterIncrement();
	(void) schema_take_table(journey.relid);
}

/* ------------------------------------------------------------------------------------
 * Schemas that are made and renamed
 */

static void
create_schema(PlannedStmt *pstmt, const char *text, bool read_only_tree,
			  ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *env,
			  DestReceiver *dest, QueryCompletion *qc)
{
	const CreateSchemaStmt *stmt = (const CreateSchemaStmt *) pstmt->utilityStmt;
	char *name = pstrdup(stmt->schemaname != NULL ? stmt->schemaname
												  : get_rolespec_name(stmt->authrole));
	bool is_new = !OidIsValid(get_namespace_oid(name, true));

	hook_utility_next(UTILITY_SCHEMA, pstmt, text, read_only_tree, context, params, env,
					  dest, qc);
	if (!is_new)
		return;
	CommandCounterIncrement();
	distribute_schema(get_namespace_oid(name, false));
}

/* On every node: what is kept of the name follows. */
static void
rename_schema(PlannedStmt *pstmt, const char *text, bool read_only_tree,
			  ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *env,
			  DestReceiver *dest, QueryCompletion *qc)
{
	char *name = pstrdup(((const RenameStmt *) pstmt->utilityStmt)->newname);

	hook_utility_next(UTILITY_SCHEMA, pstmt, text, read_only_tree, context, params, env,
					  dest, qc);
	CommandCounterIncrement();
	catalog_schema_rename(get_namespace_oid(name, false), name);
}

static void
schema_utility(PlannedStmt *pstmt, const char *text, bool read_only_tree,
			   ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *env,
			   DestReceiver *dest, QueryCompletion *qc)
{
	const Node *stmt = pstmt->utilityStmt;

	if (IsA(stmt, RenameStmt) &&
		((const RenameStmt *) stmt)->renameType == OBJECT_SCHEMA && metadata_active())
		rename_schema(pstmt, text, read_only_tree, context, params, env, dest, qc);
	else if (IsA(stmt, AlterObjectSchemaStmt) &&
			 ((const AlterObjectSchemaStmt *) stmt)->objectType == OBJECT_TABLE &&
			 utility_is_clients())
		set_schema(pstmt, text, read_only_tree, context, params, env, dest, qc);
	else if (IsA(stmt, CreateSchemaStmt) && distribute_new_schemas &&
			 utility_is_clients())
		create_schema(pstmt, text, read_only_tree, context, params, env, dest, qc);
	else
		hook_utility_next(UTILITY_SCHEMA, pstmt, text, read_only_tree, context, params,
						  env, dest, qc);
}

void
schema_init(void)
{
	DefineCustomBoolVariable(
		"citus.enable_schema_based_sharding", "Makes new schemas distributed ones.",
		"The tables of a distributed schema are together on a node.",
		&distribute_new_schemas, false, PGC_USERSET, 0, NULL, NULL, NULL);
	hook_utility(UTILITY_SCHEMA, schema_utility);
}
