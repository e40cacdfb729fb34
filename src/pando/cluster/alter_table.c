/*
 * alter_table.c: changes to how a table is distributed.
 *
 * A table with another number of shards, distribution column or colocation group goes
 * back into its shell and out again, in one transaction; the shell tables of all nodes
 * stay where they are.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/base/name.h"
#include "pando/cluster/colocation.h"
#include "pando/cluster/convert.h"
#include "pando/cluster/move.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/partitions.h"
#include "pando/cluster/schema.h"
#include "pando/cluster/settings.h"
#include "pando/cluster/shards.h"
#include "pando/cluster/table_check.h"
#include "pando/ddl/lead.h"
#include "pando/metadata/node.h"

PG_FUNCTION_INFO_V1(alter_distributed_table);
PG_FUNCTION_INFO_V1(update_distributed_table_colocation);

/* What alter_distributed_table() was asked for; NULL and 0 leave a thing as it is. */
typedef struct Change
{
	Oid relid;
	char *column;
	int shard_count;
	char *colocate_with;
} Change;

static const DistTable *
begin_change(Oid relid)
{
	const DistTable *table;

	table_check_owner(relid);
	lead_change(relid);
	partitions_refuse(relid, "alter");
	schema_refuse_table(relid, "alter");
	node_rows_lock(RowShareLock);
	(void) partition_tree(relid, ShareUpdateExclusiveLock);
	LockRelationOid(relid, ShareUpdateExclusiveLock);
	table = dist_table_require(relid);
	if (table->kind == TABLE_RANGE || table->kind == TABLE_APPEND)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table %s is distributed by range or append", name_qualified(relid)),
			 errdetail("Only the shards of tables that are distributed by hash "
					   "can be made anew.")));
	if (table->kind != TABLE_HASH)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table %s has no distribution column", name_qualified(relid))));
	return table;
}

/* ------------------------------------------------------------------------------------
 * alter_distributed_table
 */

/* The spec of a table as it is now, without a group. */
static TableSpec *
current_spec(Oid relid, const char *column)
{
	TableSpec *spec = palloc0(sizeof(TableSpec));
	const DistTable *table = dist_table_require(relid);
	Relation rel = table_open(relid, AccessShareLock);

	spec->relid = relid;
	spec->kind = TABLE_HASH;
	if (column == NULL)
		column = get_attname(relid, table->key, false);
	table_check_key(rel, column, spec);
	spec->shard_count = table->nshards;
	table_close(rel, NoLock);
	return spec;
}

/* Tables whose shards this one's foreign keys lead to or from, reference tables left out.
 */
static List *
sharded_neighbours(Oid relid)
{
	List *neighbours = NIL;
	ListCell *cell;

	foreach (cell, table_foreign_key_neighbours(relid))
	{
		const DistTable *table = dist_table(lfirst_oid(cell));

		if (table != NULL && dist_table_is_sharded(table))
			neighbours = lappend_oid(neighbours, lfirst_oid(cell));
	}
	return neighbours;
}

/*
 * The group to go to: the one asked for; else one like the old group, with the new number
 * of shards. A changed key of the same type stays in the group if others are there.
 */
static void
choose_group(TableSpec *spec, const Change *change, int32 old_colocation, Oid colocated)
{
	const char *with = change->colocate_with;

	if (change->shard_count != 0)
		spec->shard_count = change->shard_count;
	if (with == NULL)
	{
		if (change->shard_count == 0 && OidIsValid(colocated) &&
			dist_table_require(colocated)->key_type == spec->key_type &&
			dist_table_require(colocated)->key_collation == spec->key_collation)
			with = name_qualified(colocated);
		else
			with =
				colocation_is_private(old_colocation) ? COLOCATE_NONE : COLOCATE_DEFAULT;
	}
	else if (change->shard_count == 0)
		spec->shard_count = pg_strcasecmp(with, COLOCATE_DEFAULT) == 0 ||
									pg_strcasecmp(with, COLOCATE_NONE) == 0
								? spec->shard_count
								: 0;
	colocation_choose(spec, with);
	shards_check_replication(spec);
}

static void
check_constraints(const TableSpec *spec, List *together)
{
	Relation rel = table_open(spec->relid, AccessShareLock);

	table_check_unique(rel, spec);
	table_check_foreign_keys(rel, spec, together);
	table_close(rel, NoLock);
}

/* Members of the group that change, and the others of it. */
static List *
tables_to_change(FunctionCallInfo fcinfo, const Change *change, const DistTable *table)
{
	List *members = dist_table_oids_of_colocation(table->colocation);
	bool cascade = !PG_ARGISNULL(4) && PG_GETARG_BOOL(4);

	if (cascade && change->column != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("distribution_column and cascade_to_colocated exclude each "
						"other")));
	if (cascade)
		return members;
	if (list_length(members) > list_length(partition_tree(change->relid, NoLock)) &&
		change->shard_count != 0 && PG_ARGISNULL(4) && change->colocate_with == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cascade_to_colocated must be given because %s is colocated with "
						"other tables",
						name_qualified(change->relid)),
				 errhint("true changes all of them, false takes this table out of the "
						 "group.")));
	if (sharded_neighbours(change->relid) != NIL)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot alter %s alone because of its foreign keys",
					name_qualified(change->relid)),
			 errdetail("A foreign key connects it with %s.",
					   name_qualified(linitial_oid(sharded_neighbours(change->relid)))),
			 errhint(
				 "Set cascade_to_colocated to alter both, or drop the foreign key.")));
	return partition_tree(change->relid, NoLock);
}

static void
alter_tables(const Change *change, List *relids, int32 old_colocation)
{
	List *specs = NIL;
	Oid colocated = InvalidOid;
	ListCell *cell;

	foreach (cell, dist_table_oids_of_colocation(old_colocation))
	{
		if (!list_member_oid(relids, lfirst_oid(cell)))
			colocated = lfirst_oid(cell);
	}
	list_sort(relids, list_oid_cmp);
	foreach (cell, relids)
	{
		LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
	}
	list_sort(relids, table_depth_cmp);
	foreach (cell, relids)
		specs = lappend(specs, current_spec(lfirst_oid(cell), change->column));
	/* All of them go where the first one goes; checked before anything is moved. */
	choose_group(linitial(specs), change, old_colocation, colocated);
	foreach_ptr (TableSpec, spec, specs)
	{
		const TableSpec *first = linitial(specs);

		spec->shard_count = first->shard_count;
		spec->replication = first->replication;
		spec->colocation = first->colocation;
		spec->new_colocation = first->new_colocation;
		spec->model = first->model;
		check_constraints(spec, relids);
	}
	colocation_register_new(linitial(specs));
	convert_undistribute(relids, true);
	foreach_ptr (TableSpec, spec, specs)
	{
		const TableSpec *first = linitial(specs);

		spec->colocation = first->colocation;
		if (!OidIsValid(spec->model) && spec != first)
			spec->model = first->relid;
		convert_distribute(spec, false);
	}
	foreach_ptr (TableSpec, spec, specs)
	{
		convert_foreign_keys(spec, false);
	}
	colocation_drop_if_empty(old_colocation);
}

/* alter_distributed_table(table, column, shard_count, colocate_with,
 * cascade_to_colocated) */
Datum
alter_distributed_table(PG_FUNCTION_ARGS)
{
	Change change = {0};
	const DistTable *table;

	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("table_name must not be null")));
	change.relid = PG_GETARG_OID(0);
	change.column = PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1));
	change.shard_count = PG_ARGISNULL(2) ? 0 : PG_GETARG_INT32(2);
	change.colocate_with = PG_ARGISNULL(3) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(3));
	if (change.column == NULL && PG_ARGISNULL(2) && change.colocate_with == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("one of distribution_column, shard_count and colocate_with "
						"must be given")));
	if (!PG_ARGISNULL(2) &&
		(change.shard_count < 1 || change.shard_count > MAX_SHARD_COUNT))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("shard_count must be between 1 and %d", MAX_SHARD_COUNT)));

	table = begin_change(change.relid);
	if (change.column != NULL && get_attnum(change.relid, change.column) == table->key)
		change.column = NULL;
	if (change.column == NULL && change.colocate_with == NULL &&
		(change.shard_count == 0 || change.shard_count == table->nshards))
		PG_RETURN_VOID();
	alter_tables(&change, tables_to_change(fcinfo, &change, table), table->colocation);
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * update_distributed_table_colocation
 */

static void
set_colocation(Oid relid, int32 old_colocation, int32 colocation)
{
	node_run_everywhere(
		psprintf("SELECT pando.table_set_colocation(%s::pg_catalog.regclass, %d)",
				 quote_literal_cstr(name_qualified(relid)), colocation));
	colocation_drop_if_empty(old_colocation);
}

/* update_distributed_table_colocation(table, colocate_with): no row moves. */
Datum
update_distributed_table_colocation(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	char *with = text_to_cstring(PG_GETARG_TEXT_PP(1));
	const DistTable *table = begin_change(relid);
	int32 old_colocation = table->colocation;
	TableSpec *spec = current_spec(relid, NULL);

	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot change the colocation of partitioned table %s",
							   name_qualified(relid)),
						errhint("Use alter_distributed_table().")));
	LockRelationOid(relid, AccessExclusiveLock);
	if (sharded_neighbours(relid) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot change the colocation of %s because of its foreign keys",
						name_qualified(relid)),
				 errdetail("A foreign key connects it with %s.",
						   name_qualified(linitial_oid(sharded_neighbours(relid))))));
	if (pg_strcasecmp(with, COLOCATE_DEFAULT) == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("colocate_with must name a table, or be 'none'")));
	colocation_choose(spec, with);
	if (OidIsValid(spec->model))
	{
		if (!colocation_lines_up(dist_table_require(relid),
								 dist_table_require(spec->model)))
			ereport(
				ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot colocate %s with %s", name_qualified(relid), with),
				 errdetail("Their shards have different hash ranges or are on different "
						   "nodes."),
				 errhint("Use alter_distributed_table(), which moves the rows.")));
	}
	else
	{
		spec->replication = dist_table_require(relid)->shards[0].nplacements;
		colocation_register_new(spec);
	}
	if (spec->colocation != old_colocation)
		set_colocation(relid, old_colocation, spec->colocation);
	PG_RETURN_VOID();
}
