/*
 * table_functions.c: the SQL functions that create, undo and change distributed tables.
 *
 * Each runs on the coordinator, as the table's owner, in the caller's transaction. Order:
 * rights, then locks (pg_dist_node, so that no node joins half-way; the shell table),
 * then all checks, then the change (convert.h). An error anywhere undoes all of it on all
 * nodes.
 */
#include "pando/compat/compat.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/node.h"
#include "pando/cluster/colocation.h"
#include "pando/cluster/concurrent.h"
#include "pando/cluster/convert.h"
#include "pando/cluster/local_table.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/partitions.h"
#include "pando/cluster/settings.h"
#include "pando/cluster/schema.h"
#include "pando/cluster/shards.h"
#include "pando/cluster/table_check.h"
#include "pando/cluster/table_functions.h"
#include "pando/ddl/lead.h"
#include "pando/ddl/local_lead.h"
#include "pando/ddl/local_key.h"
#include "pando/metadata/node.h"

PG_FUNCTION_INFO_V1(create_distributed_table);
PG_FUNCTION_INFO_V1(create_distributed_table_concurrently);
PG_FUNCTION_INFO_V1(create_reference_table);
PG_FUNCTION_INFO_V1(citus_add_local_table_to_metadata);
PG_FUNCTION_INFO_V1(remove_local_tables_from_metadata);
PG_FUNCTION_INFO_V1(undistribute_table);
PG_FUNCTION_INFO_V1(truncate_local_data_after_distributing_table);

/* ------------------------------------------------------------------------------------
 * What all of them share
 */

static void
require_argument(FunctionCallInfo fcinfo, int number, const char *name)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s must not be null", name)));
}

static char *
text_or_null(FunctionCallInfo fcinfo, int number)
{
	return PG_ARGISNULL(number) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(number));
}

void
table_change_begin(Oid relid)
{
	if (OidIsValid(relid))
		table_check_owner(relid);
	lead_change(relid);
	if (catalog_node_all() == NIL)
	{
		node_rows_lock(ExclusiveLock);
		node_row_ensure_coordinator(true);
	}
	else
		node_rows_lock(RowShareLock);
}

static Relation
open_locked(Oid relid)
{
	Relation rel = try_relation_open(relid, AccessExclusiveLock);

	if (rel == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relid)));
	table_check_owner(relid);
	return rel;
}

/* Opens an ordinary table, locked for its conversion. A managed local one is made one. */
static Relation
open_for_conversion(Oid relid)
{
	Relation rel;

	if (is_managed_local(relid))
		local_table_release(relid);
	rel = open_locked(relid);
	table_check_relation(rel);
	return rel;
}

static int
shard_count_argument(FunctionCallInfo fcinfo, int number)
{
	int count = PG_ARGISNULL(number) ? 0 : PG_GETARG_INT32(number);

	if (!PG_ARGISNULL(number) && (count < 1 || count > MAX_SHARD_COUNT))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("shard_count must be between 1 and %d", MAX_SHARD_COUNT)));
	return count;
}

/* The last checks, which need the colocation group, and the change. */
static void
distribute(Relation rel, TableSpec *spec)
{
	List *specs;

	table_close(rel, NoLock);
	specs = partition_specs(spec, NIL, AccessExclusiveLock);
	shards_check_replication(spec);
	colocation_register_new(spec);
	partitions_distribute(specs, InvalidOid);
	if (spec->kind == TABLE_REFERENCE)
	{
		foreach_oid(relid, table_foreign_key_neighbours(spec->relid))
		{
			if (is_managed_local(relid))
				local_keys_follow(relid);
		}
	}
}

void
tables_join_group(List *relids, int32 colocation)
{
	List *roots = NIL;
	List *specs = NIL;
	List *together = NIL;

	foreach_oid(relid, relids)
	{
		TableSpec *spec = palloc0(sizeof(TableSpec));

		spec->relid = relid;
		spec->kind = TABLE_SINGLE;
		table_close(open_for_conversion(relid), NoLock);
		colocation_join(spec, colocation);
		shards_check_replication(spec);
		together = list_concat(together, partition_tree(relid, AccessExclusiveLock));
		roots = lappend(roots, spec);
	}
	foreach_ptr (TableSpec, spec, roots)
		specs = list_concat(specs, partition_specs(spec, together, AccessExclusiveLock));
	if (specs != NIL)
		partitions_distribute(specs, InvalidOid);
}

/* ------------------------------------------------------------------------------------
 * Creating
 */

/* What a label of citus.distribution_type asks for. */
static TableKind
kind_of_type(Oid label)
{
	char *type =
		sql_value("SELECT enumlabel FROM pg_catalog.pg_enum WHERE oid = %u", label);

	if (type != NULL && strcmp(type, "range") == 0)
		return TABLE_RANGE;
	if (type != NULL && strcmp(type, "append") == 0)
		return TABLE_APPEND;
	return TABLE_HASH;
}

/* Shards of such a table are made one by one, when it is there. */
static void
check_shards_come_later(Relation rel, const TableSpec *spec)
{
	if (spec->kind == TABLE_HASH || spec->kind == TABLE_SINGLE)
		return;
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("distributing partitioned table %s by range or append is "
							   "not supported",
							   name_qualified(spec->relid))));
	if (spec->shard_count != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("shard_count is only for tables that are distributed by hash"),
				 errhint("master_create_empty_shard() makes a shard.")));
	if (spec->kind == TABLE_RANGE)
		(void) comparable_type(spec->key_type);
}

/* What the arguments of create_distributed_table() ask for; *column may be NULL. */
static TableSpec
asked_spec(FunctionCallInfo fcinfo, char **column, char **with)
{
	TableSpec spec = {0};

	require_argument(fcinfo, 0, "table_name");
	require_argument(fcinfo, 2, "distribution_type");
	require_argument(fcinfo, 3, "colocate_with");
	spec.relid = PG_GETARG_OID(0);
	spec.shard_count = shard_count_argument(fcinfo, 4);
	*column = text_or_null(fcinfo, 1);
	*with = text_or_null(fcinfo, 3);
	spec.kind = kind_of_type(PG_GETARG_OID(2));
	if (*column == NULL && spec.kind != TABLE_HASH)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("distribution_column must not be null")));
	if (*column == NULL)
		spec.kind = TABLE_SINGLE;
	if (*column == NULL && spec.shard_count > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a table without a distribution column has one shard, not %d",
						spec.shard_count)));
	return spec;
}

/* create_distributed_table(table, column, type, colocate_with, shard_count) */
Datum
create_distributed_table(PG_FUNCTION_ARGS)
{
	char *column;
	char *with;
	TableSpec spec = asked_spec(fcinfo, &column, &with);
	Relation rel;

	table_change_begin(spec.relid);
	schema_refuse_table(spec.relid, "distribute");
	rel = open_for_conversion(spec.relid);
	if (column != NULL)
		table_check_key(rel, column, &spec);
	check_shards_come_later(rel, &spec);
	colocation_choose(&spec, with);
	distribute(rel, &spec);
	PG_RETURN_VOID();
}

/* create_distributed_table_concurrently(...): while the table is read and written. */
Datum
create_distributed_table_concurrently(PG_FUNCTION_ARGS)
{
	char *column;
	char *with;
	TableSpec spec = asked_spec(fcinfo, &column, &with);

	concurrent_distribute(&spec, column, with);
	PG_RETURN_VOID();
}

/* create_reference_table(table) */
Datum
create_reference_table(PG_FUNCTION_ARGS)
{
	TableSpec spec = {0};
	Relation rel;

	require_argument(fcinfo, 0, "table_name");
	spec.relid = PG_GETARG_OID(0);
	spec.kind = TABLE_REFERENCE;
	table_change_begin(spec.relid);
	schema_refuse_table(spec.relid, "distribute");
	rel = open_for_conversion(spec.relid);
	colocation_choose_reference(&spec);
	distribute(rel, &spec);
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Undistributing
 */

/* Adds what foreign keys connect the tables with, as far as it is in the metadata. */
static List *
foreign_key_closure(List *relids)
{
	relids = partitions_complete(relids);
	for (int i = 0; i < list_length(relids); i++)
	{
		ListCell *cell;

		foreach (cell, table_foreign_key_neighbours(list_nth_oid(relids, i)))
		{
			const DistTable *table = dist_table(lfirst_oid(cell));

			if (table != NULL && table->kind != TABLE_MANAGED_LOCAL)
				relids = list_concat_unique_oid(
					relids, partitions_complete(list_make1_oid(table->relid)));
		}
	}
	return relids;
}

/* undistribute_table(table, cascade_via_foreign_keys) */
Datum
undistribute_table(PG_FUNCTION_ARGS)
{
	Oid relid;
	List *relids;
	int tree;

	require_argument(fcinfo, 0, "table_name");
	relid = PG_GETARG_OID(0);
	if (is_managed_elsewhere(relid))
	{
		local_lead_call(
			list_make1_oid(relid),
			psprintf("SELECT pg_catalog.undistribute_table(%s::pg_catalog.regclass)",
					 quote_literal_cstr(name_qualified(relid))));
		PG_RETURN_VOID();
	}
	table_change_begin(relid);
	dist_table_require(relid);
	schema_refuse_table(relid, "undistribute");
	partitions_refuse(relid, "undistribute");
	if (is_managed_local(relid))
	{
		local_table_release(relid);
		PG_RETURN_VOID();
	}
	tree = list_length(partitions_complete(list_make1_oid(relid)));
	relids = foreign_key_closure(list_make1_oid(relid));
	if (list_length(relids) > tree && (PG_ARGISNULL(1) || !PG_GETARG_BOOL(1)))
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot undistribute %s alone because of its foreign keys",
					name_qualified(relid)),
			 errdetail("A foreign key connects it with %s, which is distributed.",
					   name_qualified(list_nth_oid(relids, tree))),
			 errhint("Set cascade_via_foreign_keys to undistribute all %d tables that "
					 "foreign keys connect, or drop the foreign keys.",
					 list_length(relids))));
	convert_undistribute(relids, false);
	PG_RETURN_VOID();
}

/*
 * truncate_local_data_after_distributing_table(table): there is nothing to do. Rows move
 * when the table is distributed, and no copy of them stays behind.
 */
Datum
truncate_local_data_after_distributing_table(PG_FUNCTION_ARGS)
{
	require_argument(fcinfo, 0, "function_name");
	table_check_owner(PG_GETARG_OID(0));
	dist_table_require(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Local tables in the metadata
 */

/* Adds what foreign keys connect the tables with, as far as it is not in the metadata. */
static List *
local_foreign_key_closure(List *relids)
{
	relids = partitions_complete(relids);
	for (int i = 0; i < list_length(relids); i++)
	{
		foreach_oid(neighbour, table_foreign_key_neighbours(list_nth_oid(relids, i)))
		{
			if (dist_table(neighbour) == NULL)
				relids = list_concat_unique_oid(
					relids, partitions_complete(list_make1_oid(neighbour)));
		}
	}
	return relids;
}

/*
 * citus_add_local_table_to_metadata(table, cascade_via_foreign_keys): all nodes know the
 * table from now on. It stays what it is, a table of the coordinator. All that is
 * partitioned together goes together.
 */
Datum
citus_add_local_table_to_metadata(PG_FUNCTION_ARGS)
{
	Oid relid;
	List *relids;

	require_argument(fcinfo, 0, "table_name");
	relid = PG_GETARG_OID(0);
	if (is_managed_local(relid) || is_managed_elsewhere(relid))
		PG_RETURN_VOID();
	if (!node_is_coordinator())
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table %s cannot be added to the metadata", name_qualified(relid)),
			 errdetail("It is a table of this node alone; local tables that all nodes "
					   "can use are the coordinator's."),
			 errhint("Make it on the coordinator, or here while "
					 "citus.use_citus_managed_tables is on.")));
	table_change_begin(relid);
	if (is_managed_local(relid))
		PG_RETURN_VOID();
	relids = partitions_complete(list_make1_oid(relid));
	if (!PG_ARGISNULL(1) && PG_GETARG_BOOL(1))
		relids = local_foreign_key_closure(relids);
	list_sort(relids, list_oid_cmp);
	foreach_oid(each, relids)
	{
		Relation rel = open_locked(each);

		table_check_ordinary(rel);
		table_close(rel, NoLock);
	}
	local_tables_manage(relids);
	PG_RETURN_VOID();
}

/* remove_local_tables_from_metadata(): the reverse, for all that the user owns. */
Datum
remove_local_tables_from_metadata(PG_FUNCTION_ARGS)
{
	List *relids = dist_table_oids();
	List *elsewhere = NIL;

	list_sort(relids, list_oid_cmp);
	foreach_oid(each, relids)
	{
		if (is_managed_elsewhere(each) && !get_rel_relispartition(each) &&
			compat_owns_relation(each, GetUserId()))
			elsewhere = lappend_oid(elsewhere, each);
	}
	if (elsewhere != NIL)
		local_lead_call(elsewhere,
						"SELECT pg_catalog.remove_local_tables_from_metadata()");
	if (!node_is_coordinator())
		PG_RETURN_VOID();
	node_rows_lock(RowShareLock);
	foreach_oid(relid, relids)
	{
		/* Partitions follow. */
		if (!get_rel_relispartition(relid) && is_managed_local(relid) &&
			compat_owns_relation(relid, GetUserId()))
			local_table_release(relid);
	}
	PG_RETURN_VOID();
}
