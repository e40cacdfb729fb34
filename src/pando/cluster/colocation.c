/*
 * colocation.c: which colocation group a table joins.
 *
 * The default group of a make (shard count, replication factor, key type and collation)
 * is the oldest one that tables join by default. Groups made by colocate_with => 'none'
 * and those of distributed schemas are private: pando.colocation_private and
 * pg_dist_schema name them. A group whose last table was dropped is used again; that of a
 * schema stays as long as the schema is distributed.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"
#include "utils/wait_event.h"

#include "pando/base/name.h"
#include "pando/base/nap.h"
#include "pando/base/sql.h"
#include "pando/catalog/catalog.h"
#include "pando/catalog/colocation.h"
#include "pando/catalog/partition.h"
#include "pando/catalog/schema.h"
#include "pando/cluster/colocation.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/settings.h"

#define REFERENCE_REPLICATION (-1)

/* What a table that is to join a group waits for others who have locked it. */
#define GROUP_PATIENCE_MS 3000

bool
colocation_is_private(int32 colocation)
{
	return catalog_schema_has_colocation(colocation) ||
		   sql_value("SELECT 1 FROM pando.colocation_private WHERE colocationid = %d",
					 colocation) != NULL;
}

/* A table of the group other than this one; InvalidOid if there is none. */
static Oid
member_of(int32 colocation, Oid except)
{
	ListCell *cell;

	foreach (cell, dist_table_oids_of_colocation(colocation))
	{
		if (lfirst_oid(cell) != except)
			return lfirst_oid(cell);
	}
	return InvalidOid;
}

/*
 * No move or split of the group's shards is under way from here on to the end of the
 * transaction: it would not know of the table that joins. One that is may take hours, and
 * all who choose a group wait for this transaction: so it is not waited for.
 */
static void
lock_group(const TableSpec *spec)
{
	TimestampTz end =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), GROUP_PATIENCE_MS);

	while (!ConditionalLockRelationOid(spec->model, ShareUpdateExclusiveLock))
	{
		if (GetCurrentTimestamp() > end)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("cannot colocate %s with %s now", name_qualified(spec->relid),
							name_qualified(spec->model)),
					 errdetail("Shards of that table are being moved or split, or it is "
							   "being changed."),
					 errhint("Try again later, or use colocate_with => 'none'.")));
		nap(50);
	}
}

/* Joins the group, whose shards are those of the model if it has one. */
static void
join_group(TableSpec *spec, const ColocationRow *row)
{
	spec->colocation = row->colocationid;
	spec->new_colocation = false;
	spec->shard_count = row->shardcount;
	spec->replication = row->replicationfactor;
	spec->model = member_of(row->colocationid, spec->relid);
	if (OidIsValid(spec->model))
		lock_group(spec);
}

/* A group of its own; it gets its number when it is registered. */
static void
new_group(TableSpec *spec)
{
	spec->colocation = 0;
	spec->new_colocation = true;
	spec->model = InvalidOid;
}

static void
choose_default(TableSpec *spec)
{
	foreach_ptr (const ColocationRow, row,
				 catalog_colocation_by_make(spec->shard_count, spec->replication,
											spec->key_type, spec->key_collation))
	{
		if (!colocation_is_private(row->colocationid))
		{
			join_group(spec, row);
			return;
		}
	}
	new_group(spec);
}

static void
refuse_colocation(const TableSpec *spec, const char *with, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("cannot colocate %s with %s", name_qualified(spec->relid), with),
			 errdetail("%s", detail)));
}

/* colocate_with names a table. */
static void
choose_with_table(TableSpec *spec, const char *with)
{
	Oid relid = RangeVarGetRelid(
		makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(with))),
		RowShareLock, false);
	const DistTable *table = dist_table(relid);
	const ColocationRow *row;

	if (table == NULL)
		refuse_colocation(spec, with, psprintf("%s is not distributed.", with));
	if (catalog_schema_has_colocation(table->colocation))
		refuse_colocation(spec, with,
						  "It belongs to a distributed schema, whose tables "
						  "are colocated with each other alone.");
	if (table->kind != spec->kind)
		refuse_colocation(spec, with,
						  table->kind == TABLE_REFERENCE
							  ? "It is a reference table, which has a copy on every node."
							  : "One has a distribution column, the other does not.");
	if (relid == spec->relid)
		refuse_colocation(spec, with, "It is the same table.");
	if (table->key_type != spec->key_type)
		refuse_colocation(spec, with,
						  psprintf("Their distribution columns have the types %s and %s.",
								   format_type_be(spec->key_type),
								   format_type_be(table->key_type)));
	if (table->key_collation != spec->key_collation)
		refuse_colocation(spec, with,
						  "Their distribution columns have different collations.");
	if (spec->shard_count != 0 && table->nshards != spec->shard_count)
		refuse_colocation(
			spec, with,
			psprintf("It has %d shards, not %d.", table->nshards, spec->shard_count));
	row = catalog_colocation_by_id(table->colocation);
	if (row == NULL)
		elog(ERROR, "colocation group %d does not exist", table->colocation);
	join_group(spec, row);
	spec->shard_count = table->nshards;
	spec->model = relid;
}

void
colocation_choose(TableSpec *spec, const char *colocate_with)
{
	bool alone = spec->kind == TABLE_RANGE || spec->kind == TABLE_APPEND;

	LockRelationOid(catalog_oid("pg_dist_colocation"), ShareRowExclusiveLock);

	if (alone && pg_strcasecmp(colocate_with, COLOCATE_DEFAULT) != 0 &&
		pg_strcasecmp(colocate_with, COLOCATE_NONE) != 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("tables that are distributed by range or append are not "
							   "colocated with others"),
						errhint("Leave out colocate_with.")));
	if (pg_strcasecmp(colocate_with, COLOCATE_DEFAULT) != 0 &&
		pg_strcasecmp(colocate_with, COLOCATE_NONE) != 0)
	{
		choose_with_table(spec, colocate_with);
		return;
	}
	if (spec->kind == TABLE_SINGLE)
		spec->shard_count = 1;
	else if (spec->shard_count == 0)
		spec->shard_count = alone ? 1 : setting_shard_count;
	spec->replication = spec->kind == TABLE_SINGLE ? 1 : setting_shard_replication_factor;
	if (!alone && pg_strcasecmp(colocate_with, COLOCATE_DEFAULT) == 0)
		choose_default(spec);
	else
	{
		new_group(spec);
		spec->private_colocation = true;
	}
}

void
colocation_join(TableSpec *spec, int32 colocation)
{
	const ColocationRow *row;

	LockRelationOid(catalog_oid("pg_dist_colocation"), ShareRowExclusiveLock);
	row = catalog_colocation_by_id(colocation);
	if (row == NULL)
		elog(ERROR, "colocation group %d does not exist", colocation);
	join_group(spec, row);
}

void
colocation_choose_reference(TableSpec *spec)
{
	LockRelationOid(catalog_oid("pg_dist_colocation"), ShareRowExclusiveLock);
	spec->shard_count = 1;
	spec->replication = REFERENCE_REPLICATION;
	choose_default(spec);
	spec->model = InvalidOid;
}

/* 'schema.name'::type as text, or NULL for InvalidOid. */
static char *
type_literal(Oid type)
{
	if (!OidIsValid(type))
		return "NULL";
	return psprintf("%s::regtype", quote_literal_cstr(format_type_extended(
									   type, -1, FORMAT_TYPE_FORCE_QUALIFY)));
}

static char *
collation_literal(Oid collation)
{
	if (!OidIsValid(collation))
		return "NULL";
	return sql_value(
		"SELECT format('%%L::regcollation', format('%%I.%%I', nspname, collname)) "
		"FROM pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid "
		"= c.collnamespace WHERE c.oid = %u",
		collation);
}

void
colocation_register_new(TableSpec *spec)
{
	if (!spec->new_colocation)
		return;
	spec->colocation = catalog_colocation_next_id();
	node_run_everywhere(
		psprintf("SELECT pando.colocation_register(%d, %d, %d, %s, %s, %s)",
				 spec->colocation, spec->shard_count, spec->replication,
				 type_literal(spec->key_type), collation_literal(spec->key_collation),
				 spec->private_colocation ? "true" : "false"));
	spec->new_colocation = false;
}

void
colocation_drop_if_empty(int32 colocation)
{
	if (colocation == 0 || catalog_partition_by_colocation(colocation) != NIL ||
		catalog_colocation_by_id(colocation) == NULL ||
		catalog_schema_has_colocation(colocation))
		return;
	node_run_everywhere(psprintf("SELECT pando.colocation_unregister(%d)", colocation));
}

/* Do two shards have placements in the same groups? */
static bool
same_groups(const Shard *a, const Shard *b)
{
	if (a->nplacements != b->nplacements)
		return false;
	for (int i = 0; i < a->nplacements; i++)
	{
		bool found = false;

		for (int j = 0; j < b->nplacements; j++)
			found |= a->placements[i].group == b->placements[j].group;
		if (!found)
			return false;
	}
	return true;
}

bool
colocation_lines_up(const DistTable *a, const DistTable *b)
{
	if (a->nshards != b->nshards)
		return false;
	for (int i = 0; i < a->nshards; i++)
	{
		if (a->shards[i].min_hash != b->shards[i].min_hash ||
			a->shards[i].max_hash != b->shards[i].max_hash ||
			!same_groups(&a->shards[i], &b->shards[i]))
			return false;
	}
	return true;
}
