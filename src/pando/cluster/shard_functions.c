/*
 * shard_functions.c: shards of tables that are split by ranges or by append, made and
 * dropped one by one.
 *
 * A new shard is empty and has no range. A superuser gives it one by an UPDATE of
 * pg_dist_shard, on whichever node: a trigger makes it the same on all nodes, after it
 * has waited for everybody who uses the table, and fails where ranges would overlap or a
 * shard has rows outside of its own.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/catalog.h"
#include "pando/catalog/colocation.h"
#include "pando/catalog/shard.h"
#include "pando/cluster/node_lock.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/shards.h"
#include "pando/cluster/table_check.h"
#include "pando/ddl/lead.h"
#include "pando/metadata/node.h"
#include "pando/metadata/range.h"
#include "pando/metadata/shard_relation.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(master_get_new_shardid);
PG_FUNCTION_INFO_V1(master_create_empty_shard);
PG_FUNCTION_INFO_V1(citus_drop_all_shards);
PG_FUNCTION_INFO_V1(shard_range_changed);
PG_FUNCTION_INFO_V1(shard_set_range);

static bool
has_own_shards(const DistTable *table)
{
	return table->kind == TABLE_RANGE || table->kind == TABLE_APPEND;
}

/* The table, which the user owns, locked in that mode; no node joins or leaves. */
static const DistTable *
begin_change(Oid relid, LOCKMODE mode)
{
	const DistTable *table;

	table_check_owner(relid);
	lead_change(relid);
	node_rows_lock(RowShareLock);
	LockRelationOid(relid, mode);
	table_check_owner(relid);
	table = dist_table_require(relid);
	if (!has_own_shards(table))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("table %s is not distributed by range or append",
							   name_qualified(relid)),
						errdetail("The shards of other tables are made and dropped along "
								  "with them.")));
	return table;
}

/* master_create_empty_shard(table): returns the new shard's id. */
Datum
master_create_empty_shard(PG_FUNCTION_ARGS)
{
	Oid relid = RangeVarGetRelid(
		makeRangeVarFromNameList(textToQualifiedNameList(PG_GETARG_TEXT_PP(0))), NoLock,
		false);
	/* Who reads and writes the others goes on. */
	const DistTable *table = begin_change(relid, ShareUpdateExclusiveLock);
	const ColocationRow *group = catalog_colocation_by_id(table->colocation);
	int64 id;

	if (group == NULL)
		elog(ERROR, "colocation group %d does not exist", table->colocation);
	id = shards_register_empty(table, group->replicationfactor);
	shards_create_one_on_nodes(relid, id);
	PG_RETURN_INT64(id);
}

static char *
ids_of_shards(const DistTable *table)
{
	StringInfoData ids;

	initStringInfo(&ids);
	for (int i = 0; i < table->nshards; i++)
		appendStringInfo(&ids, "%s" INT64_FORMAT, i > 0 ? "," : "", table->shards[i].id);
	return ids.data;
}

/*
 * citus_drop_all_shards(table, its schema, its name, metadata only): returns how many
 * there were. With the last argument their relations stay on the nodes, and are ordinary
 * tables then.
 */
Datum
citus_drop_all_shards(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	const DistTable *table = begin_change(relid, AccessExclusiveLock);
	int count = table->nshards;
	char *ids = ids_of_shards(table);

	if (strcmp(text_to_cstring(PG_GETARG_TEXT_PP(1)),
			   get_namespace_name(get_rel_namespace(relid))) != 0 ||
		strcmp(text_to_cstring(PG_GETARG_TEXT_PP(2)), get_rel_name(relid)) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("schema_name and table_name are not those of table %s",
							   name_qualified(relid))));
	if (count == 0)
		PG_RETURN_INT32(0);
	node_lock_tables_everywhere(list_make1_oid(relid), AccessExclusiveLock, NULL);
	if (!PG_GETARG_BOOL(3))
		shards_drop_on_nodes(relid);
	node_run_everywhere(psprintf("SELECT pando.shards_unregister('{%s}')", ids));
	PG_RETURN_INT32(count);
}

/* ------------------------------------------------------------------------------------
 * Ranges
 */

/* Raises if the shard, which is here, has a row outside of its range. */
static void
check_rows(const DistTable *table, const Shard *shard)
{
	Oid relid = shard_relation_require(table, shard->id);
	Relation rel = table_open(relid, AccessShareLock);
	AttrNumber key = get_attnum(relid, get_attname(table->relid, table->key, false));
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	TableScanDesc scan = table_beginscan(rel, snapshot, 0, NULL);
	TupleTableSlot *slot = table_slot_create(rel, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool isnull;
		Datum value = slot_getattr(slot, key, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (isnull || !range_map_holds(table, shard->index, value))
			ereport(ERROR, (errcode(ERRCODE_CHECK_VIOLATION),
							errmsg("shard " INT64_FORMAT
								   " of table %s has rows outside of the range",
								   shard->id, name_qualified(table->relid))));
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(rel, AccessShareLock);
}

/* After a row of pg_dist_shard has changed on this node. */
static void
take_range(Oid relid, int64 shard_id)
{
	const DistTable *table;
	const Shard *shard;

	dist_table_invalidate(relid);
	CommandCounterIncrement();
	table = dist_table_require(relid);
	shard = shard_of_table(table, shard_id);
	if (table->kind == TABLE_RANGE && shard != NULL &&
		shard_is_local(table, shard->index))
		check_rows(table, shard);
}

/* pando.shard_set_range(shard, min, max): what a node tells the others. */
Datum
shard_set_range(PG_FUNCTION_ARGS)
{
	ShardRow *row;

	xact_require_node("pando.shard_set_range()");
	if (PG_ARGISNULL(0))
		PG_RETURN_VOID();
	row = catalog_shard_by_id(PG_GETARG_INT64(0));
	if (row == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("shard " INT64_FORMAT " does not exist", PG_GETARG_INT64(0))));
	if (!has_own_shards(dist_table_require(row->logicalrelid)))
		PG_RETURN_VOID();
	table_check_owner(row->logicalrelid);
	row->shardminvalue = PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1));
	row->shardmaxvalue = PG_ARGISNULL(2) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(2));
	catalog_shard_update(row);
	take_range(row->logicalrelid, row->shardid);
	PG_RETURN_VOID();
}

static const char *
literal_or_null(const char *value)
{
	return value != NULL ? quote_literal_cstr(value) : "NULL";
}

/* AFTER UPDATE trigger of pg_dist_shard, for each row. */
Datum
shard_range_changed(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	const DistTable *table;
	List *others;
	ShardRow *row;
	bool isnull;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BY_UPDATE(data->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
		RelationGetRelid(data->tg_relation) != catalog_oid("pg_dist_shard"))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("must be called as trigger")));
	CommandCounterIncrement(); /* or the row would be read as it was */
	row = catalog_shard_by_id(DatumGetInt64(SPI_getbinval(
		data->tg_newtuple, RelationGetDescr(data->tg_relation),
		SPI_fnumber(RelationGetDescr(data->tg_relation), "shardid"), &isnull)));
	if (row == NULL)
		return PointerGetDatum(NULL);
	table = dist_table(row->logicalrelid);
	if (table == NULL || !has_own_shards(table))
		return PointerGetDatum(NULL);

	(void) begin_change(row->logicalrelid, AccessExclusiveLock);
	node_lock_tables_everywhere(list_make1_oid(row->logicalrelid), AccessExclusiveLock,
								NULL);
	take_range(row->logicalrelid, row->shardid);
	if (table->kind == TABLE_RANGE)
		range_map_check(dist_table_require(row->logicalrelid));
	xact_wrote_locally();
	others = node_list(NODES_OTHER);
	if (others != NIL)
		xact_tell_nodes(others,
						psprintf("SELECT pando.shard_set_range(" INT64_FORMAT ", %s, %s)",
								 row->shardid, literal_or_null(row->shardminvalue),
								 literal_or_null(row->shardmaxvalue)));
	return PointerGetDatum(NULL);
}

/* master_get_new_shardid(): an id that no shard of the cluster has or gets. */
Datum
master_get_new_shardid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(catalog_shard_next_id());
}
