/*
 * move.c: moving and copying shard groups between nodes.
 *
 * All shards of one shard group move together. The switch is the caller's transaction,
 * which changes all nodes through two-phase commit.
 *
 *   1. A lock on the shell tables of the colocation group, on the coordinator first, then
 * on the node that leads, then on all others: EXCLUSIVE, so that writers wait from here
 * on; in an online move SHARE UPDATE EXCLUSIVE, which keeps out schema changes, tables
 * that would join the group, and other moves only.
 *   2. Bare tables on the target, rows, then indexes and constraints, then foreign keys.
 * An online move does this outside of the transaction (online_move.c) and takes EXCLUSIVE
 * when little is left to copy.
 *   3. ACCESS EXCLUSIVE on the same shell tables: statements that run end first, later
 * ones look the placements up anew. An online move does not insist: group_lock.c.
 *   4. The metadata on all nodes; the source's tables are dropped.
 *
 * Moves of one colocation group exclude each other by step 1; nodes do not come or go
 * meanwhile.
 */
#include "pando/compat/compat.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/catalog/partition.h"
#include "pando/catalog/placement.h"
#include "pando/cluster/cleanup.h"
#include "pando/cluster/group_lock.h"
#include "pando/cluster/group_switch.h"
#include "pando/cluster/move.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/online_move.h"
#include "pando/cluster/transfer.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(citus_move_shard_placement);
PG_FUNCTION_INFO_V1(citus_move_shard_placement_by_id);
PG_FUNCTION_INFO_V1(citus_copy_shard_placement);
PG_FUNCTION_INFO_V1(citus_copy_shard_placement_by_id);
PG_FUNCTION_INFO_V1(replicate_reference_tables);

/* ------------------------------------------------------------------------------------
 * Which tables.
 */

static void
check_free(const Shard *shard, const DistNode *target)
{
	if (placement_on(shard, target->group) != NULL)
		ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
						errmsg("shard %lld already has a placement on node %s:%d",
							   (long long) shard->id, target->host, target->port)));
}

/* The shard group's tables as they are now that they are locked. */
static List *
group_members(List *tables, int index, const DistNode *source, List *targets)
{
	List *members = NIL;
	ListCell *cell;

	foreach (cell, tables)
	{
		const DistTable *table = dist_table_require(lfirst_oid(cell));
		const Shard *shard = &table->shards[index];
		const Placement *placement = placement_on(shard, source->group);

		foreach_ptr (const DistNode, target, targets)
			check_free(shard, target);
		if (placement == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("could not find placement matching \"%s:%d\"", source->host,
							source->port),
					 errdetail("Shard %lld of table %s has no placement on that node.",
							   (long long) shard->id, name_qualified(table->relid)),
					 errhint("Confirm the placement still exists and try again.")));
		members = lappend(members, group_member_of(table, index, placement));
	}
	return members;
}

/* Copies on the target that are marked as lost give way to the new ones. */
static void
forget_lost_copies(List *members, const DistNode *target)
{
	StringInfoData forget;
	StringInfoData drop;

	initStringInfo(&forget);
	initStringInfo(&drop);
	foreach_ptr (GroupMember, member, members)
	{
		foreach_ptr (PlacementRow, row, catalog_placement_by_shard(member->shard_id))
		{
			if (row->groupid != target->group)
				continue;
			appendStringInfo(&forget, "%spando.placement_unregister(%lld)",
							 forget.len == 0 ? "SELECT " : ", ",
							 (long long) row->placementid);
			appendStringInfo(&drop, "%spando.shards_drop(%s::regclass, '{%lld}')",
							 drop.len == 0 ? "SELECT " : ", ",
							 quote_literal_cstr(member->name),
							 (long long) member->shard_id);
		}
	}
	if (forget.len == 0)
		return;
	xact_tell_nodes(node_list(NODES_ALL), forget.data);
	xact_run_on_nodes(list_make1((void *) target), drop.data);
}

/* ------------------------------------------------------------------------------------
 * Checks.
 */

static const DistTable *
check_shard(int64 shard_id, MoveKind kind)
{
	const DistTable *table;

	(void) group_shard_require(shard_id, &table);
	if (table->kind == TABLE_REFERENCE)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table %s is a reference table, shards of reference tables can't be "
					"moved or copied",
					name_qualified(table->relid)),
			 errhint("A reference table has a placement on every node.")));
	if (table->kind == TABLE_MANAGED_LOCAL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("table %s is a local table of the coordinator, its shard "
							   "can't be moved or copied",
							   name_qualified(table->relid))));
	if (kind == COPY_PLACEMENT && table->repmodel == REPMODEL_SINGLE)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table %s has one placement per shard, its shards can't be copied",
					name_qualified(table->relid)),
			 errhint("Set citus.shard_replication_factor before the table is "
					 "distributed, or use citus_move_shard_placement().")));
	return table;
}

/* NULL, or which target has copies that are marked as lost, which give way to new ones.
 */
static const char *
lost_copies(const GroupCopy *copy)
{
	foreach_ptr (CopyTarget, target, copy->targets)
	{
		foreach_ptr (GroupMember, member, copy->members)
		{
			foreach_ptr (PlacementRow, row, catalog_placement_by_shard(member->shard_id))
			{
				if (row->groupid == target->node->group)
					return psprintf("Node %s:%d has copies that are marked as lost.",
									target->node->host, target->node->port);
			}
		}
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------
 * The move.
 */

/* The new placements in the metadata of all nodes. */
static void
switch_placements(List *members, const DistNode *target, MoveKind kind)
{
	StringInfoData sql;

	initStringInfo(&sql);
	foreach_ptr (GroupMember, member, members)
	{
		appendStringInfoString(&sql, sql.len == 0 ? "SELECT " : ", ");
		if (kind == MOVE_PLACEMENT)
			appendStringInfo(&sql, "pando.placement_set_group(%lld, %d)",
							 (long long) member->placement_id, target->group);
		else
			appendStringInfo(&sql,
							 "pando.placements_register(ARRAY[%lld]::bigint[], "
							 "ARRAY[%lld]::bigint[], ARRAY[%d])",
							 (long long) catalog_placement_next_id(),
							 (long long) member->shard_id, target->group);
	}
	xact_tell_nodes(node_list(NODES_ALL), sql.data);
}

/* The shard and those colocated with it as they are now, and their copies to be. */
static void
look_up(GroupCopy *copy, List *targets)
{
	const DistTable *table;
	const Shard *shard = group_shard_require(copy->shard_id, &table);
	List *shards = NIL;

	copy->members = group_members(copy->tables, shard->index, copy->source, targets);
	copy->targets = NIL;
	foreach_ptr (GroupMember, member, copy->members)
		shards = lappend(shards, &member->shard_id);
	foreach_ptr (const DistNode, node, targets)
	{
		CopyTarget *target = palloc0(sizeof(CopyTarget));

		target->node = node;
		target->shards = shards;
		copy->targets = lappend(copy->targets, target);
	}
}

/* The switch of an online move. */
static void
switch_move(const GroupCopy *copy, int kind)
{
	foreach_ptr (CopyTarget, target, copy->targets)
		switch_placements(copy->members, target->node, kind);
	group_copy_commits_first(copy);
	if (kind == MOVE_PLACEMENT)
		group_drop_source(copy);
}

/* Steps 1 to 4 for the shards of the copy's tables; the switch of an online move may wait
 * for others. */
static void
move_shards(GroupCopy *copy, List *targets, MoveKind kind, TransferMode mode)
{
	int64 shard_id = copy->shard_id;
	const DistNode *source = copy->source;
	bool online;

	group_check_owner(copy->tables);
	group_check_node(source, "source");
	foreach_ptr (const DistNode, target, targets)
		group_check_node(target, "target");
	if (mode == TRANSFER_BLOCKING || group_switch_waits_for(shard_id))
		group_switch_all();
	look_up(copy, targets);
	online = group_copy_online(copy, mode, lost_copies(copy));
	move_progress_add(shard_id, source, linitial(targets), kind);

	node_rows_lead(RowShareLock);
	while (!group_copy_lock(copy, online))
	{
		group_check_owner(copy->tables);
		look_up(copy, targets);
		online = group_copy_online(copy, mode, lost_copies(copy));
	}
	look_up(copy, targets);
	group_copy_await(copy);
	if (online)
	{
		group_switch_add(copy, group_copy_prepare(copy), switch_move, kind);
		if (copy->joins)
			group_switch_all();
		return;
	}
	foreach_ptr (const DistNode, target, targets)
		forget_lost_copies(copy->members, target);
	(void) group_copy_fill(copy, false);
	DEBUG_POINT("move-before-switch");
	switch_move(copy, kind);
	move_progress_set(shard_id, MOVE_COMPLETED);
}

static void
move_tables(List *tables, int64 shard_id, const DistNode *source, List *targets,
			MoveKind kind, TransferMode mode, bool joins)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	GroupCopy *copy = palloc0(sizeof(GroupCopy));

	copy->tables = list_copy(tables);
	copy->shard_id = shard_id;
	copy->source = source;
	copy->joins = joins;
	group_switch_enter();
	PG_TRY();
	{
		move_shards(copy, list_copy(targets), kind, mode);
	}
	PG_FINALLY();
	{
		group_switch_leave();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
}

static void
move_group(int64 shard_id, const DistNode *source, List *targets, MoveKind kind,
		   TransferMode mode)
{
	const DistTable *table = check_shard(shard_id, kind);

	move_tables(shard_group_tables(table), shard_id, source, targets, kind, mode, false);
}

void
shard_group_move(int64 shard_id, const DistNode *source, const DistNode *target,
				 MoveKind kind, TransferMode mode)
{
	move_group(shard_id, source, list_make1((void *) target), kind, mode);
}

void
shard_group_copy(int64 shard_id, const DistNode *source, List *targets, TransferMode mode)
{
	move_group(shard_id, source, targets, COPY_PLACEMENT, mode);
}

/* Gives the node a copy of each reference table that it has none of. */
static void
replicate_to(const DistNode *target, TransferMode mode, bool joins)
{
	const DistTable *first = NULL;
	List *missing = NIL;

	foreach_oid(relid, dist_table_oids())
	{
		const DistTable *table = dist_table_require(relid);
		const Shard *shard = &table->shards[0];

		if (table->kind != TABLE_REFERENCE || placement_on(shard, target->group) != NULL)
			continue;
		if (shard->nplacements == 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("reference table %s has no copy that node %s:%d could get",
							name_qualified(relid), target->host, target->port)));
		if (first == NULL)
			first = table;
		missing = lappend_oid(missing, relid);
	}
	if (missing == NIL)
		return;
	list_sort(missing, table_depth_cmp);
	move_tables(missing, first->shards[0].id,
				node_by_group(first->shards[0].placements[0].group),
				list_make1((void *) target), COPY_PLACEMENT, mode, joins);
}

void
reference_tables_bring(const DistNode *node, bool online)
{
	replicate_to(node, online ? TRANSFER_AUTO : TRANSFER_BLOCKING, true);
}

/* ------------------------------------------------------------------------------------
 * SQL functions.
 */

static const DistNode *
named_node(text *host, int port)
{
	const DistNode *node = node_by_name(text_to_cstring(host), port);

	if (node == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("node at \"%s:%d\" does not exist", text_to_cstring(host), port),
				 errhint("Add it with SELECT citus_add_node('%s', %d).",
						 text_to_cstring(host), port)));
	return node;
}

static void
move_by_name(FunctionCallInfo fcinfo, MoveKind kind)
{
	shard_group_move(PG_GETARG_INT64(0),
					 named_node(PG_GETARG_TEXT_PP(1), PG_GETARG_INT32(2)),
					 named_node(PG_GETARG_TEXT_PP(3), PG_GETARG_INT32(4)), kind,
					 transfer_mode(PG_GETARG_OID(5)));
}

static void
move_by_id(FunctionCallInfo fcinfo, MoveKind kind)
{
	shard_group_move(PG_GETARG_INT64(0), group_node_require(PG_GETARG_INT32(1)),
					 group_node_require(PG_GETARG_INT32(2)), kind,
					 transfer_mode(PG_GETARG_OID(3)));
}

/* replicate_reference_tables(shard_transfer_mode): nodes lack those that are lost, whose
 * repair blocks writers. */
Datum
replicate_reference_tables(PG_FUNCTION_ARGS)
{
	TransferMode mode = transfer_mode(PG_GETARG_OID(0));

	foreach_ptr (const DistNode, node, node_list(NODES_LISTED))
		replicate_to(node, mode, false);
	PG_RETURN_VOID();
}

Datum
citus_move_shard_placement(PG_FUNCTION_ARGS)
{
	move_by_name(fcinfo, MOVE_PLACEMENT);
	PG_RETURN_VOID();
}

Datum
citus_move_shard_placement_by_id(PG_FUNCTION_ARGS)
{
	move_by_id(fcinfo, MOVE_PLACEMENT);
	PG_RETURN_VOID();
}

Datum
citus_copy_shard_placement(PG_FUNCTION_ARGS)
{
	move_by_name(fcinfo, COPY_PLACEMENT);
	PG_RETURN_VOID();
}

Datum
citus_copy_shard_placement_by_id(PG_FUNCTION_ARGS)
{
	move_by_id(fcinfo, COPY_PLACEMENT);
	PG_RETURN_VOID();
}
