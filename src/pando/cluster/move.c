/*
 * move.c: moving and copying shard groups between nodes.
 *
 * All shards of one shard group move together. The switch is the caller's transaction,
 * which changes all nodes through two-phase commit.
 *
 *   1. A lock on the shell tables of the colocation group, on the coordinator first and
 * then on all nodes: EXCLUSIVE, so that writers wait from here on; in an online move
 * SHARE UPDATE EXCLUSIVE, which keeps out schema changes and other moves only.
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

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/catalog/partition.h"
#include "pando/catalog/placement.h"
#include "pando/cluster/cleanup.h"
#include "pando/cluster/group_lock.h"
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

int
table_depth_cmp(const ListCell *a, const ListCell *b)
{
	int depth_a = get_rel_relispartition(lfirst_oid(a))
					  ? list_length(get_partition_ancestors(lfirst_oid(a)))
					  : 0;
	int depth_b = get_rel_relispartition(lfirst_oid(b))
					  ? list_length(get_partition_ancestors(lfirst_oid(b)))
					  : 0;

	if (depth_a != depth_b)
		return depth_a < depth_b ? -1 : 1;
	return lfirst_oid(a) < lfirst_oid(b) ? -1 : lfirst_oid(a) > lfirst_oid(b);
}

List *
shard_group_tables(const DistTable *table)
{
	List *tables = table->colocation == 0
					   ? list_make1_oid(table->relid)
					   : list_copy(dist_table_oids_of_colocation(table->colocation));

	list_sort(tables, table_depth_cmp);
	return tables;
}

static const Placement *
placement_on(const Shard *shard, int32 group)
{
	for (int i = 0; i < shard->nplacements; i++)
	{
		if (shard->placements[i].group == group)
			return &shard->placements[i];
	}
	return NULL;
}

/* int64 * of the members' shards. */
static List *
member_shards(List *members)
{
	List *shards = NIL;

	foreach_ptr (MoveMember, member, members)
		shards = lappend(shards, &member->shard_id);
	return shards;
}

static bool
has_places(Oid relid)
{
	Relation rel = table_open(relid, AccessShareLock);
	bool is_heap = rel->rd_tableam == GetHeapamTableAmRoutine();

	table_close(rel, NoLock);
	return is_heap;
}

/* The shard group's tables as they are now that they are locked. */
static List *
group_members(List *tables, int index, const DistNode *source, const DistNode *target)
{
	List *members = NIL;
	ListCell *cell;

	foreach (cell, tables)
	{
		const DistTable *table = dist_table_require(lfirst_oid(cell));
		const Shard *shard = &table->shards[index];
		const Placement *placement = placement_on(shard, source->group);
		MoveMember *member = palloc0(sizeof(MoveMember));

		if (placement_on(shard, target->group) != NULL)
			ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
							errmsg("shard %lld already has a placement on node %s:%d",
								   (long long) shard->id, target->host, target->port)));
		if (placement == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("could not find placement matching \"%s:%d\"", source->host,
							source->port),
					 errdetail("Shard %lld of table %s has no placement on that node.",
							   (long long) shard->id, name_qualified(table->relid)),
					 errhint("Confirm the placement still exists and try again.")));
		member->relid = table->relid;
		member->name = name_qualified(table->relid);
		member->shard_id = shard->id;
		member->placement_id = placement->id;
		member->has_rows = get_rel_relkind(table->relid) != RELKIND_PARTITIONED_TABLE;
		members = lappend(members, member);
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
	foreach_ptr (MoveMember, member, members)
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

static void
check_node(const DistNode *node, const char *which)
{
	if (!node->active)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s node %s:%d is not active", which, node->host, node->port),
				 errhint("Activate it with SELECT citus_activate_node('%s', %d).",
						 node->host, node->port)));
	if (!node->primary)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("%s node %s:%d is not a primary", which, node->host,
							   node->port)));
}

static const DistTable *
check_shard(int64 shard_id, MoveKind kind, int *index)
{
	const DistTable *table;
	const Shard *shard = shard_by_id(shard_id, &table);

	if (shard == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("could not find valid entry for shard %lld",
							   (long long) shard_id)));
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
	*index = shard->index;
	return table;
}

static void
check_owner(List *tables)
{
	ListCell *cell;

	foreach (cell, tables)
	{
		if (!pg_class_ownercheck(lfirst_oid(cell), GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE,
						   get_rel_name(lfirst_oid(cell)));
	}
}

/* The argument of the SQL functions. */
static TransferMode
transfer_mode(Oid mode)
{
	char *label = DatumGetCString(OidFunctionCall1(F_ENUM_OUT, ObjectIdGetDatum(mode)));

	if (strcmp(label, "force_logical") == 0)
		return TRANSFER_ONLINE;
	return strcmp(label, "auto") == 0 ? TRANSFER_AUTO : TRANSFER_BLOCKING;
}

TransferMode
transfer_mode_of_many(Oid mode)
{
	if (transfer_mode(mode) == TRANSFER_ONLINE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("shard transfer mode \"force_logical\" is not supported for "
						"several moves in one transaction"),
				 errhint("Move shards one by one with citus_move_shard_placement().")));
	return TRANSFER_BLOCKING;
}

/* Copies on the target that are marked as lost, which give way to new ones. */
static bool
any_lost_copies(List *members, const DistNode *target)
{
	foreach_ptr (MoveMember, member, members)
	{
		foreach_ptr (PlacementRow, row, catalog_placement_by_shard(member->shard_id))
		{
			if (row->groupid == target->group)
				return true;
		}
	}
	return false;
}

/* Why the move can't be an online one; NULL if it can. */
static const char *
online_obstacle(List *members, const DistNode *target)
{
	if (any_lost_copies(members, target))
		return "The node has copies that are marked as lost.";
	foreach_ptr (MoveMember, member, members)
	{
		if (member->has_rows && !has_places(member->relid))
			return "A table's access method does not keep rows at places.";
	}
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return "The transaction has written already, which others can't see yet.";
	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		if (xact_wrote_on(node->group))
			return "The transaction has written already, which others can't see yet.";
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------
 * The move.
 */

/* SELECT pando.<function>(table, array[shard] [, stage]) on the node, for all members. */
static void
run_for_members(List *members, const DistNode *node, const char *function,
				const char *stage)
{
	StringInfoData sql;

	initStringInfo(&sql);
	foreach_ptr (MoveMember, member, members)
		appendStringInfo(&sql, "%spando.%s(%s::regclass, ARRAY[%lld]::bigint[]%s)",
						 sql.len == 0 ? "SELECT " : ", ", function,
						 quote_literal_cstr(member->name), (long long) member->shard_id,
						 stage == NULL ? "" : psprintf(", '%s'", stage));
	xact_run_on_nodes(list_make1((void *) node), sql.data);
}

/* The new placements in the metadata of all nodes. */
static void
switch_placements(List *members, const DistNode *target, MoveKind kind)
{
	StringInfoData sql;

	initStringInfo(&sql);
	foreach_ptr (MoveMember, member, members)
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

/* Writers wait from the start. */
static void
fill_blocking(List *members, int64 shard_id, const DistNode *source,
			  const DistNode *target)
{
	move_progress_set(shard_id, MOVE_SETTING_UP);
	run_for_members(members, target, "shards_create", "table");
	DEBUG_POINT("move-after-create");
	move_progress_set(shard_id, MOVE_COPYING_DATA);
	foreach_ptr (MoveMember, member, members)
	{
		if (member->has_rows)
			shard_transfer(member->relid, member->shard_id, source, target);
	}
	DEBUG_POINT("move-after-copy");
	move_progress_set(shard_id, MOVE_CREATING_CONSTRAINTS);
	run_for_members(members, target, "shards_create", "indexes");
	run_for_members(members, target, "shards_create", "foreign_keys");
}

/* Nobody may rewrite or empty a shard by its own name while places in it mean rows. */
static void
keep_places(List *members, const DistNode *source)
{
	StringInfoData sql;

	initStringInfo(&sql);
	foreach_ptr (MoveMember, member, members)
	{
		if (member->has_rows)
			appendStringInfo(&sql, "%s%s", sql.len == 0 ? "LOCK TABLE ONLY " : ", ONLY ",
							 name_shard_qualified(member->relid, member->shard_id));
	}
	if (sql.len == 0)
		return;
	appendStringInfoString(&sql, " IN ACCESS SHARE MODE");
	xact_run_on_nodes(list_make1((void *) source), sql.data);
}

/* What the switch of an online move locks tables for. */
typedef struct OnlineSwitch
{
	OnlineMove *move;
	List *tables;
	List *members;
	const DistNode *target;
} OnlineSwitch;

static void
catch_up(void *arg)
{
	online_move_catch_up(((OnlineSwitch *) arg)->move);
	DEBUG_POINT("online-before-lock");
}

/* Writers wait from here on, and at last readers, too. */
static void
complete(void *arg)
{
	OnlineSwitch *online = arg;

	group_lock(online->tables, ExclusiveLock);
	online_move_finish(online->move);
	run_for_members(online->members, online->target, "shards_create",
					"foreign_keys_held");
	group_lock(online->tables, AccessExclusiveLock);
}

/* Writers wait when the target has all but the last changes. Ends with ACCESS EXCLUSIVE.
 */
static OnlineMove *
fill_online(List *tables, List *members, int64 shard_id, const DistNode *source,
			const DistNode *target)
{
	OnlineMove *move = online_move_begin(members, shard_id, source, target);
	OnlineSwitch online = {move, tables, members, target};

	PG_TRY();
	{
		keep_places(members, source);
		online_move_fill(move);
		catch_up(&online);
		group_lock_for(tables, catch_up, complete, &online);
	}
	PG_FINALLY();
	{
		online_move_close(move);
	}
	PG_END_TRY();
	return move;
}

/* Steps 1 to 4 for the shards with that index of these tables. */
static void
move_tables(List *tables, int index, int64 shard_id, const DistNode *source,
			const DistNode *target, MoveKind kind, TransferMode mode)
{
	bool online = mode != TRANSFER_BLOCKING;
	OnlineMove *move = NULL;
	List *members;

	check_owner(tables);
	check_node(source, "source");
	check_node(target, "target");
	members = group_members(tables, index, source, target);
	if (online)
	{
		const char *obstacle = online_obstacle(members, target);

		if (obstacle != NULL && mode == TRANSFER_ONLINE)
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("shard %lld can't be moved or copied online",
								   (long long) shard_id),
							errdetail("%s", obstacle),
							errhint("Use shard_transfer_mode block_writes.")));
		online = obstacle == NULL;
	}
	move_progress_add(shard_id, source, target, kind);

	node_rows_lock(RowShareLock);
	group_lock(tables, online ? ShareUpdateExclusiveLock : ExclusiveLock);
	members = group_members(tables, index, source, target);
	cleanup_await(member_shards(members));
	if (online)
		move = fill_online(tables, members, shard_id, source, target);
	else
	{
		forget_lost_copies(members, target);
		fill_blocking(members, shard_id, source, target);
		group_lock(tables, AccessExclusiveLock);
	}

	DEBUG_POINT("move-before-switch");
	switch_placements(members, target, kind);
	if (kind == MOVE_PLACEMENT)
		run_for_members(members, source, "shards_drop", NULL);
	if (move != NULL)
		online_move_settle(move);
	move_progress_set(shard_id, MOVE_COMPLETED);
}

void
shard_group_move(int64 shard_id, const DistNode *source, const DistNode *target,
				 MoveKind kind, TransferMode mode)
{
	int index;
	const DistTable *table = check_shard(shard_id, kind, &index);

	move_tables(shard_group_tables(table), index, shard_id, source, target, kind, mode);
}

/* Gives the node a copy of each reference table that it has none of. */
static void
replicate_to(const DistNode *target, TransferMode mode)
{
	const DistNode *source = NULL;
	List *missing = NIL;
	ListCell *cell;

	foreach (cell, dist_table_oids())
	{
		const DistTable *table = dist_table_require(lfirst_oid(cell));
		const Shard *shard = &table->shards[0];

		if (table->kind != TABLE_REFERENCE || shard->nplacements == 0 ||
			placement_on(shard, target->group) != NULL)
			continue;
		if (source == NULL)
			source = node_by_group(shard->placements[0].group);
		missing = lappend_oid(missing, table->relid);
	}
	if (missing != NIL)
		move_tables(missing, 0, dist_table_require(linitial_oid(missing))->shards[0].id,
					source, target, COPY_PLACEMENT, mode);
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

static const DistNode *
numbered_node(int32 id)
{
	const DistNode *node = node_by_id(id);

	if (node == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("node with id %d does not exist", id)));
	return node;
}

static void
move_by_name(FunctionCallInfo fcinfo, MoveKind kind)
{
	node_require_coordinator();
	shard_group_move(PG_GETARG_INT64(0),
					 named_node(PG_GETARG_TEXT_PP(1), PG_GETARG_INT32(2)),
					 named_node(PG_GETARG_TEXT_PP(3), PG_GETARG_INT32(4)), kind,
					 transfer_mode(PG_GETARG_OID(5)));
}

static void
move_by_id(FunctionCallInfo fcinfo, MoveKind kind)
{
	node_require_coordinator();
	shard_group_move(PG_GETARG_INT64(0), numbered_node(PG_GETARG_INT32(1)),
					 numbered_node(PG_GETARG_INT32(2)), kind,
					 transfer_mode(PG_GETARG_OID(3)));
}

/* replicate_reference_tables(shard_transfer_mode) */
Datum
replicate_reference_tables(PG_FUNCTION_ARGS)
{
	TransferMode mode = transfer_mode_of_many(PG_GETARG_OID(0));

	node_require_coordinator();
	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
		replicate_to(node, mode);
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
