/*
 * convert.c: an ordinary table becomes a distributed one, and back.
 *
 * Distributing: dependencies and shell tables on the other nodes; metadata everywhere;
 * bare shards; the shell's own rows go to them, through the same receiver that COPY uses,
 * and the shell gets new empty storage; indexes and constraints of the shards; foreign
 * keys last. A table without rows gets its shards in one step.
 *
 * Undistributing: the rows are read as any query would read them and appended to the
 * shell's own storage, whose indexes are built afterwards.
 *
 * Rows are read with a snapshot taken after the table was locked, so that none is missed
 * which was committed while we waited.
 */
#include "pando/compat/compat.h"

#include "access/heapam.h"
#include "access/multixact.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/varlena.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/capture/capture.h"
#include "pando/cluster/colocation.h"
#include "pando/cluster/convert.h"
#include "pando/cluster/node_lock.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/shards.h"
#include "pando/copy/dest.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/lead.h"
#include "pando/ddl/publication.h"
#include "pando/ddl/rule.h"
#include "pando/ddl/sequence.h"
#include "pando/ddl/shard_ddl.h"
#include "pando/ddl/statements.h"
#include "pando/ddl/table_def.h"
#include "pando/ddl/truncate_triggers.h"
#include "pando/ddl/view.h"
#include "pando/metadata/node.h"
#include "pando/transaction/xact.h"

/* ------------------------------------------------------------------------------------
 * Rows of the shell table to the shards
 */

/* Columns whose values are stored as they come: neither dropped nor generated. */
static List *
plain_columns(TupleDesc desc, bool with_generated)
{
	List *columns = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (!column->attisdropped && (with_generated || column->attgenerated == '\0'))
			columns = lappend_int(columns, i + 1);
	}
	return columns;
}

static bool
shell_has_rows(Relation rel)
{
	Snapshot snapshot;
	TableScanDesc scan;
	TupleTableSlot *slot;
	bool found;

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return false;
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	scan = table_beginscan(rel, snapshot, 0, NULL);
	slot = table_slot_create(rel, NULL);
	found = table_scan_getnextslot(scan, ForwardScanDirection, slot);
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	return found;
}

/* A descriptor of the columns alone, in their order. */
static TupleDesc
projected_desc(TupleDesc desc, List *columns)
{
	TupleDesc projected = CreateTemplateTupleDesc(list_length(columns));
	ListCell *cell;
	int i = 0;

	foreach (cell, columns)
		TupleDescCopyEntry(projected, ++i, desc, lfirst_int(cell));
	return projected;
}

static void
project(TupleTableSlot *from, List *columns, TupleTableSlot *to)
{
	ListCell *cell;
	int i = 0;

	ExecClearTuple(to);
	foreach (cell, columns)
	{
		int at = lfirst_int(cell) - 1;

		to->tts_values[i] = from->tts_values[at];
		to->tts_isnull[i] = from->tts_isnull[at];
		i++;
	}
	ExecStoreVirtualTuple(to);
}

/* Sends all rows of the shell's own storage to the shards. */
static void
copy_rows_to_shards(Relation rel)
{
	List *columns = plain_columns(RelationGetDescr(rel), false);
	TupleDesc desc = projected_desc(RelationGetDescr(rel), columns);
	TupleTableSlot *row = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	DestReceiver *dest = copy_dest_create(RelationGetRelid(rel), columns);
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	TableScanDesc scan = table_beginscan(rel, snapshot, 0, NULL);

	PushActiveSnapshot(snapshot);
	dest->rStartup(dest, CMD_SELECT, desc);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		project(slot, columns, row);
		dest->receiveSlot(row, dest);
	}
	dest->rShutdown(dest);
	dest->rDestroy(dest);
	PopActiveSnapshot();
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	ExecDropSingleTupleTableSlot(slot);
	ExecDropSingleTupleTableSlot(row);
}

static void
move_rows_to_shards(const TableSpec *spec, bool notice)
{
	Relation rel = table_open(spec->relid, NoLock);

	CheckTableNotInUse(rel, "distribute");
	if (notice)
		ereport(NOTICE, (errmsg("copying data from local table %s to its shards",
								name_qualified(spec->relid))));
	/* Rows that become a shard's are no changes of the table. */
	capture_pause_on(node_list(NODES_ALL), true);
	copy_rows_to_shards(rel);
	capture_pause_on(node_list(NODES_ALL), false);
	CommandCounterIncrement();
	relation_empty(rel); /* the rows are not gone, they are elsewhere */
	table_close(rel, NoLock);
}

/* ------------------------------------------------------------------------------------
 * Distributing
 */

static void
run_on_others(List *commands)
{
	List *others = node_list(NODES_OTHER);

	if (commands != NIL && others != NIL)
		xact_run_on_nodes(others, sql_join(commands));
}

void
convert_make_shells(Oid relid, bool managed_local)
{
	ObjectAddress address;
	List *commands;

	if (node_list(NODES_OTHER) == NIL)
		return;
	xact_settle_past();
	ObjectAddressSet(address, RelationRelationId, relid);
	lead_default_privileges();
	dependency_ensure(&address);
	commands = managed_local ? table_def_local_shell(relid)
							 : table_def_commands(list_make1_oid(relid));
	/* What a partition gets from its parent is not checked against the shards. */
	commands = lcons("SET LOCAL pando.shells_only TO on", commands);
	commands = lcons("SELECT pando.default_privileges_keep()", commands);
	run_on_others(lappend(commands, "SET LOCAL pando.shells_only TO off"));
	sequence_fit_table(relid);
}

void
convert_distribute(const TableSpec *spec, bool make_shells)
{
	Relation rel = table_open(spec->relid, NoLock);
	bool has_rows = shell_has_rows(rel);

	table_close(rel, NoLock);
	if (make_shells)
		convert_make_shells(spec->relid, false);
	shards_register_table(spec);
	if (!has_rows)
	{
		shards_create_on_nodes(spec->relid, "table_and_indexes");
		return;
	}
	shards_create_on_nodes(spec->relid, "table");
	move_rows_to_shards(spec, make_shells);
	shards_create_on_nodes(spec->relid, "indexes");
}

void
convert_adopt(const TableSpec *spec, List *plans)
{
	Relation rel = table_open(spec->relid, NoLock);
	bool has_rows = rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE;

	CheckTableNotInUse(rel, "distribute");
	convert_make_shells(spec->relid, false);
	shards_register_planned(spec, plans);
	CommandCounterIncrement();
	if (has_rows)
		relation_empty(rel); /* the rows are not gone, they are elsewhere */
	table_close(rel, NoLock);
}

void
convert_foreign_keys(const TableSpec *spec, bool make_shells)
{
	List *commands = table_def_foreign_keys(list_make1_oid(spec->relid));

	if (make_shells && commands != NIL)
	{
		commands = lcons("SET LOCAL pando.shells_only TO on", commands);
		run_on_others(lappend(commands, "SET LOCAL pando.shells_only TO off"));
	}
	if (commands != NIL)
		shards_create_on_nodes(spec->relid, "foreign_keys");
	trigger_follow_keys(spec->relid);
	view_follow_table(spec->relid);
	if (!make_shells)
		return;
	rules_follow_table(spec->relid);
	publications_follow_table(spec->relid);
}

/* ------------------------------------------------------------------------------------
 * Rows of the shards to the shell table
 */

/* A receiver that appends rows to the shell's own storage; indexes are not maintained. */
typedef struct ShellDest
{
	DestReceiver pub;
	Relation rel;
	List *columns; /* of the incoming rows, by attribute number */
	TupleTableSlot *slot;
	BulkInsertState bulk;
	CommandId cid;
	MemoryContext row_context;
	uint64 rows;
} ShellDest;

static void
shell_startup(DestReceiver *self, int operation, TupleDesc desc)
{
}

static bool
shell_receive(TupleTableSlot *from, DestReceiver *self)
{
	ShellDest *dest = (ShellDest *) self;
	TupleTableSlot *slot = dest->slot;
	MemoryContext old = MemoryContextSwitchTo(dest->row_context);
	ListCell *cell;
	int i = 0;

	slot_getallattrs(from);
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, sizeof(bool) * RelationGetDescr(dest->rel)->natts);
	foreach (cell, dest->columns)
	{
		int at = lfirst_int(cell) - 1;

		slot->tts_values[at] = from->tts_values[i];
		slot->tts_isnull[at] = from->tts_isnull[i];
		i++;
	}
	ExecStoreVirtualTuple(slot);
	table_tuple_insert(dest->rel, slot, dest->cid, 0, dest->bulk);
	ExecClearTuple(slot);
	MemoryContextSwitchTo(old);
	MemoryContextReset(dest->row_context);
	dest->rows++;
	return true;
}

static void
shell_nothing(DestReceiver *self)
{
}

/* SELECT all columns FROM table: planned as any query of the distributed table. */
static char *
select_command(Relation rel, List *columns)
{
	StringInfoData sql;
	ListCell *cell;
	const char *separator = "";

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	foreach (cell, columns)
	{
		Form_pg_attribute column =
			TupleDescAttr(RelationGetDescr(rel), lfirst_int(cell) - 1);

		appendStringInfo(&sql, "%s%s", separator,
						 quote_identifier(NameStr(column->attname)));
		separator = ", ";
	}
	appendStringInfo(&sql, " FROM %s", name_qualified(RelationGetRelid(rel)));
	return sql.data;
}

/* Runs one SELECT into the receiver, with a snapshot of now. */
static void
run_select(const char *sql, DestReceiver *dest)
{
	RawStmt *raw = linitial_node(RawStmt, pg_parse_query(sql));
	List *queries = pg_analyze_and_rewrite_fixedparams(raw, sql, NULL, 0, NULL);
	PlannedStmt *plan;
	QueryDesc *desc;

	PushActiveSnapshot(GetLatestSnapshot());
	plan = pg_plan_query(linitial_node(Query, queries), sql, 0, NULL);
	desc = CreateQueryDesc(plan, sql, GetActiveSnapshot(), InvalidSnapshot, dest, NULL,
						   NULL, 0);
	ExecutorStart(desc, 0);
	ExecutorRun(desc, ForwardScanDirection, 0, true);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	PopActiveSnapshot();
}

static void
move_rows_to_shell(Oid relid)
{
	Relation rel = table_open(relid, NoLock);
	ReindexParams params = {0};
	ShellDest dest = {
		.pub = {shell_receive, shell_startup, shell_nothing, shell_nothing, DestIntoRel}};
	int guc_level = NewGUCNestLevel();

	CheckTableNotInUse(rel, "undistribute");
	/* All rows or an error, also where row security has been enabled since. */
	set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
					  true, 0, false);
	dest.rel = rel;
	dest.columns = plain_columns(RelationGetDescr(rel), true);
	dest.slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsVirtual);
	dest.bulk = GetBulkInsertState();
	dest.cid = GetCurrentCommandId(true);
	dest.row_context =
		AllocSetContextCreate(CurrentMemoryContext, "shell row", ALLOCSET_DEFAULT_SIZES);
	capture_pause();
	if (dest.columns != NIL)
		run_select(select_command(rel, dest.columns), &dest.pub);
	capture_resume();
	FreeBulkInsertState(dest.bulk);
	ExecDropSingleTupleTableSlot(dest.slot);
	MemoryContextDelete(dest.row_context);
	AtEOXact_GUC(true, guc_level);
	CommandCounterIncrement();
	if (dest.rows > 0)
		compat_reindex(relid, 0, &params);
	CommandCounterIncrement();
	table_close(rel, NoLock);
}

/* ------------------------------------------------------------------------------------
 * Undistributing
 */

void
convert_drop_shells(List *relids)
{
	StringInfoData names;
	ListCell *cell;
	const char *separator = "";

	rules_let_go(relids);
	initStringInfo(&names);
	foreach (cell, relids)
	{
		view_leave_table(lfirst_oid(cell));
		appendStringInfo(&names, "%s%s", separator,
						 quote_literal_cstr(name_qualified(lfirst_oid(cell))));
		separator = ", ";
	}
	run_on_others(
		list_make1(psprintf("SELECT pando.shells_drop(ARRAY[%s])", names.data)));
}

void
convert_unregister(Oid relid)
{
	node_run_everywhere(psprintf("SELECT pando.table_unregister(%s::pg_catalog.regclass)",
								 quote_literal_cstr(name_qualified(relid))));
}

void
convert_undistribute(List *relids, bool keep_shells)
{
	List *colocations = NIL;
	ListCell *cell;

	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("tables cannot be undistributed in a transaction with isolation "
						"level REPEATABLE READ or SERIALIZABLE"),
				 errdetail("Its snapshot may be older than rows of the tables."),
				 errhint("Use READ COMMITTED.")));
	relids = list_copy(relids);
	list_sort(relids, list_oid_cmp);
	foreach (cell, relids)
		table_check_owner(lfirst_oid(cell));
	/* Here alone first: who waited may find that another has done it. */
	foreach (cell, relids)
	{
		LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
		(void) dist_table_require(lfirst_oid(cell));
	}
	node_lock_tables_everywhere(relids, AccessExclusiveLock, NULL);
	foreach (cell, relids)
		colocations = list_append_unique_int(
			colocations, dist_table_require(lfirst_oid(cell))->colocation);
	foreach (cell, relids)
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_PARTITIONED_TABLE)
			continue;
		shards_lock_on_nodes(lfirst_oid(cell));
		move_rows_to_shell(lfirst_oid(cell));
	}
	foreach (cell, relids)
		shards_drop_on_nodes(lfirst_oid(cell));
	foreach (cell, relids)
		convert_unregister(lfirst_oid(cell));
	if (keep_shells)
		return;
	foreach (cell, colocations)
		colocation_drop_if_empty(lfirst_int(cell));
	foreach (cell, relids)
		sequence_undistribute(lfirst_oid(cell));
	convert_drop_shells(relids);
	foreach (cell, relids)
		table_validate_local_references(lfirst_oid(cell));
}

PG_FUNCTION_INFO_V1(shells_drop);

/* pando.shells_drop(names): drops tables that have left the metadata on this node. */
Datum
shells_drop(PG_FUNCTION_ARGS)
{
	Datum *values;
	int count;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &values,
					  NULL, &count);
	for (int i = 0; i < count; i++)
	{
		char *name = TextDatumGetCString(values[i]);
		Oid relid = RangeVarGetRelid(
			makeRangeVarFromNameList(textToQualifiedNameList(DatumGetTextPP(values[i]))),
			NoLock, true);

		if (!OidIsValid(relid))
			continue;
		shard_require_owner(relid);
		if (dist_table(relid) != NULL)
			ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
							errmsg("table %s is still distributed", name)));
		shard_drop_tables(list_make1(name), shard_owner(relid), ERROR);
	}
	PG_RETURN_VOID();
}
