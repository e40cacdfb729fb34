/*
 * group_copy.c: copies of a shard group on other nodes: what moves and splits have in
 * common.
 *
 * A *target* is a shard of each table of the group, on one node, that gets all rows of
 * the source's or those whose hashes are in a range. Blocking: bare tables, rows, then
 * indexes and constraints, then foreign keys, all in the caller's transaction. Online:
 * outside of it (online_move.c), with all that belongs to the switch in attempts
 * (group_lock.c): the last changes, and foreign keys, which are not checked again, for
 * the source has them.
 *
 * The metadata need not know the targets' shards.
 */
#include "pando/compat/compat.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/capture/capture.h"
#include "pando/cluster/cleanup.h"
#include "pando/cluster/disk_space.h"
#include "pando/cluster/group_copy.h"
#include "pando/cluster/group_lock.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/online_move.h"
#include "pando/cluster/transfer.h"
#include "pando/transaction/xact.h"

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

const Placement *
placement_on(const Shard *shard, int32 group)
{
	for (int i = 0; i < shard->nplacements; i++)
	{
		if (shard->placements[i].group == group)
			return &shard->placements[i];
	}
	return NULL;
}

GroupMember *
group_member_of(const DistTable *table, int index, const Placement *placement)
{
	GroupMember *member = palloc0(sizeof(GroupMember));

	member->relid = table->relid;
	member->name = name_qualified(table->relid);
	member->shard_id = table->shards[index].id;
	member->placement_id = placement->id;
	member->has_rows = get_rel_relkind(table->relid) != RELKIND_PARTITIONED_TABLE;
	return member;
}

/* ------------------------------------------------------------------------------------
 * Checks.
 */

const Shard *
group_shard_require(int64 shard_id, const DistTable **table)
{
	const Shard *shard = shard_by_id(shard_id, table);

	if (shard == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("could not find valid entry for shard %lld",
							   (long long) shard_id)));
	return shard;
}

const DistNode *
group_node_require(int32 id)
{
	const DistNode *node = node_by_id(id);

	if (node == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("node with id %d does not exist", id)));
	return node;
}

void
group_check_node(const DistNode *node, const char *which)
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

void
group_check_owner(List *tables)
{
	ListCell *cell;

	foreach (cell, tables)
	{
		Oid relid = lfirst_oid(cell);

		if (!pg_class_ownercheck(relid, GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
		if (check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("cannot copy all rows of table %s", name_qualified(relid)),
					 errdetail("Row-level security applies to its owner, too, and may "
							   "hide rows."),
					 errhint("Use ALTER TABLE NO FORCE ROW LEVEL SECURITY for that time, "
							 "or a role with BYPASSRLS that is a member of the owner.")));
	}
}

TransferMode
transfer_mode(Oid mode)
{
	char *label = DatumGetCString(OidFunctionCall1(F_ENUM_OUT, ObjectIdGetDatum(mode)));

	if (strcmp(label, "force_logical") == 0)
		return TRANSFER_ONLINE;
	return strcmp(label, "auto") == 0 ? TRANSFER_AUTO : TRANSFER_BLOCKING;
}

static bool
has_places(Oid relid)
{
	Relation rel = table_open(relid, AccessShareLock);
	bool is_heap = rel->rd_tableam == GetHeapamTableAmRoutine();

	/* Whoever waits for another move of the group must hold nothing that its switch would
	 * have to wait for. */
	table_close(rel, AccessShareLock);
	return is_heap;
}

const char *
group_copy_obstacle(List *members)
{
	foreach_ptr (GroupMember, member, members)
	{
		if (member->has_rows && !has_places(member->relid))
			return "A table's access method does not keep rows at places.";
	}
	return NULL;
}

const char *
group_copy_hidden(void)
{
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return "The transaction has written already, which others can't see yet.";
	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		if (xact_wrote_on(node->group))
			return "The transaction has written already, which others can't see yet.";
	}
	return NULL;
}

bool
group_copy_online(const GroupCopy *copy, TransferMode mode, const char *obstacle)
{
	if (mode == TRANSFER_BLOCKING)
		return false;
	if (obstacle == NULL)
		obstacle = group_copy_obstacle(copy->members);
	if (obstacle == NULL)
		obstacle = group_copy_hidden();
	if (obstacle != NULL && mode == TRANSFER_ONLINE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("shard " INT64_FORMAT " can't be moved, copied or split online",
						copy->shard_id),
				 errdetail("%s", obstacle),
				 errhint("Use shard_transfer_mode block_writes.")));
	return obstacle == NULL;
}

void
group_copy_await(const GroupCopy *copy)
{
	List *shards = NIL;

	foreach_ptr (GroupMember, member, copy->members)
		shards = lappend(shards, &member->shard_id);
	foreach_ptr (CopyTarget, target, copy->targets)
		shards = list_concat_unique_ptr(shards, target->shards);
	cleanup_await(shards);
}

/* ------------------------------------------------------------------------------------
 * The copies.
 */

/* A stage of pando.shard_group_create() for each target. */
static void
create_targets(const GroupCopy *copy, const char *stage)
{
	foreach_ptr (CopyTarget, target, copy->targets)
		xact_run_on_nodes(list_make1((void *) target->node),
						  psprintf("SELECT pando.shard_group_create(%s, '%s')",
								   group_arrays(copy->members, target), stage));
}

static void
transfer_rows(const GroupCopy *copy, const CopyTarget *target)
{
	ListCell *member_cell;
	ListCell *shard_cell;

	forboth(member_cell, copy->members, shard_cell, target->shards)
	{
		const GroupMember *member = lfirst(member_cell);
		TransferPart part = {member->relid, member->shard_id,
							 *(int64 *) lfirst(shard_cell), target->range};

		if (member->has_rows)
			shard_transfer(&part, copy->source, target->node);
	}
}

/* Locks the source's shards. */
static void
lock_source(const GroupCopy *copy, const char *mode)
{
	List *names = NIL;

	foreach_ptr (GroupMember, member, copy->members)
	{
		if (member->has_rows)
			names = lappend(names, copy->local ? member->name
											   : name_shard_qualified(member->relid,
																	  member->shard_id));
	}
	group_lock_on_node(copy->source, names, mode);
}

/* Writers wait from the start. */
List *
group_copy_nodes(const GroupCopy *copy)
{
	List *nodes = NIL;

	foreach_ptr (CopyTarget, target, copy->targets)
		nodes = list_append_unique_ptr(nodes, (void *) target->node);
	return nodes;
}

/* Rows that come to a shard are no changes of the table. */
static void
pause_capture(const GroupCopy *copy, bool pause)
{
	capture_pause_on(group_copy_nodes(copy), pause);
}

static void
fill_blocking(const GroupCopy *copy)
{
	move_progress_set(copy->shard_id, MOVE_SETTING_UP);
	lock_source(copy, "SHARE");
	create_targets(copy, "table");
	DEBUG_POINT("move-after-create");
	move_progress_set(copy->shard_id, MOVE_COPYING_DATA);
	pause_capture(copy, true);
	foreach_ptr (CopyTarget, target, copy->targets)
		transfer_rows(copy, target);
	pause_capture(copy, false);
	DEBUG_POINT("move-after-copy");
	move_progress_set(copy->shard_id, MOVE_CREATING_CONSTRAINTS);
	create_targets(copy, "indexes");
	create_targets(copy, "foreign_keys");
	group_lock(copy->tables, AccessExclusiveLock);
}

/* What the switch locks tables for. */
typedef struct OnlineSwitch
{
	OnlineMove *move;
	const GroupCopy *copy;
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
	const GroupCopy *copy = online->copy;

	if (copy->local)
	{
		/* For the choice of a group at the switch. */
		group_lock_colocation();
		group_lock_here(copy->tables, ExclusiveLock);
		online_move_finish(online->move);
		group_lock_here(copy->tables, AccessExclusiveLock);
		return;
	}
	group_lock(copy->tables, ExclusiveLock);
	lock_source(copy, "SHARE");
	online_move_finish(online->move);
	create_targets(copy, "foreign_keys_held");
	group_lock(copy->tables, AccessExclusiveLock);
}

/* Writers wait when the targets have all but the last changes. */
static OnlineMove *
fill_online(const GroupCopy *copy)
{
	OnlineMove *move = online_move_begin(copy);
	OnlineSwitch online = {move, copy};

	PG_TRY();
	{
		/* Nobody may rewrite or empty a shard while places in it mean rows. */
		lock_source(copy, "ACCESS SHARE");
		online_move_fill(move);
		/* Nor be in VACUUM at the switch, which can't wait as long as that may take. Not
		 * before changes are noted: making the trigger would wait for this lock. */
		lock_source(copy, "SHARE UPDATE EXCLUSIVE");
		catch_up(&online);
		group_lock_for(copy->tables, catch_up, complete, &online);
	}
	PG_FINALLY();
	{
		online_move_close(move);
	}
	PG_END_TRY();
	return move;
}

OnlineMove *
group_copy_fill(const GroupCopy *copy, bool online)
{
	OnlineMove *move = NULL;
	int guc_level = NewGUCNestLevel();

	disk_space_require(copy);
	/* All rows or an error, also where row security has been enabled since the check. */
	(void) set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	if (online)
		move = fill_online(copy);
	else
		fill_blocking(copy);
	AtEOXact_GUC(true, guc_level);
	return move;
}

void
group_drop_source(const GroupCopy *copy)
{
	StringInfoData sql;

	initStringInfo(&sql);
	foreach_ptr (GroupMember, member, copy->members)
		appendStringInfo(
			&sql, "%spando.shards_drop(%s::pg_catalog.regclass, '{" INT64_FORMAT "}')",
			sql.len == 0 ? "SELECT " : ", ", quote_literal_cstr(member->name),
			member->shard_id);
	xact_run_on_nodes(list_make1((void *) copy->source), sql.data);
}

void
group_copy_settle(OnlineMove *online)
{
	if (online != NULL)
		online_move_settle(online);
}
