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
#include "storage/lock.h"
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
#include "pando/cluster/group_switch.h"
#include "pando/cluster/move_part.h"
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

		if (!compat_owns_relation(relid, GetUserId()))
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
	Relation rel = try_table_open(relid, AccessShareLock);
	bool is_heap;

	/* Dropped meanwhile. */
	if (rel == NULL)
		return true;
	is_heap = rel->rd_tableam == GetHeapamTableAmRoutine();
	/* Whoever waits for another move of the group must hold nothing that its switch would
	 * have to wait for. */
	table_close(rel, AccessShareLock);
	return is_heap;
}

bool
group_copy_changed_here(List *tables, LOCKMODE least)
{
	ListCell *cell;

	foreach (cell, tables)
	{
		LOCKTAG tag;

		SET_LOCKTAG_RELATION(tag, MyDatabaseId, lfirst_oid(cell));
		for (LOCKMODE mode = least; mode <= AccessExclusiveLock; mode++)
		{
			/* That is a move's own. */
			if (mode != ShareUpdateExclusiveLock && compat_lock_is_held(&tag, mode))
				return true;
		}
	}
	return false;
}

const char *
group_copy_obstacle(List *members)
{
	List *tables = NIL;

	foreach_ptr (GroupMember, member, members)
	{
		tables = lappend_oid(tables, member->relid);
		if (member->has_rows && !has_places(member->relid))
			return "A table's access method does not keep rows at places.";
	}
	if (group_copy_changed_here(tables, RowExclusiveLock))
		return "The transaction has written already, which others can't see yet.";
	return NULL;
}

const char *
group_copy_hidden(void)
{
	if (xact_keeps_snapshot())
		return "The statement reads distributed tables, by snapshots that last as long.";
	/* Moves that wait have locks and ids, and nothing that others would have to see. */
	if (group_switch_any())
		return NULL;
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
	/* Whoever has a node join looks before he writes. */
	if (obstacle == NULL && !copy->joins && !copy->locked)
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

bool
group_copy_lock(GroupCopy *copy, bool online)
{
	const DistTable *table;
	List *tables;

	group_lock(copy->tables, online ? ShareUpdateExclusiveLock : ExclusiveLock);
	copy->locked = true;
	/* Who let go of a lock on his node has committed there, and here may only soon. */
	xact_await_prepared();
	(void) group_shard_require(copy->shard_id, &table);
	/* Reference tables share a group, but not their nodes. */
	if (table->kind == TABLE_REFERENCE)
		return true;
	tables = shard_group_tables(table);
	if (equal(tables, copy->tables))
		return true;
	copy->tables = tables;
	return false;
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

/* The targets' bare tables, which receive rows from here on, and from nobody else. */
static void
create_tables(const GroupCopy *copy)
{
	foreach_ptr (CopyTarget, target, copy->targets)
		xact_tell_nodes(list_make1((void *) target->node),
						psprintf("SELECT pando.move_create(%s)",
								 group_arrays(copy->members, target)));
}

/* A later stage of pando.shard_group_create() for each target. */
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

/* The source, and those that drop the shards with it. */
static List *
nodes_left(const GroupCopy *copy)
{
	return lcons((void *) copy->source, list_copy(copy->others));
}

/* Locks the members' shards there. */
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
	foreach_ptr (const DistNode, node, nodes_left(copy))
		group_lock_on_node(node, names, mode);
}

/* Locks the copies, each node's in one command. */
static void
lock_targets(const GroupCopy *copy, const char *mode)
{
	foreach_ptr (const DistNode, node, group_copy_nodes(copy))
	{
		List *names = NIL;

		foreach_ptr (CopyTarget, target, copy->targets)
		{
			ListCell *member_cell;
			ListCell *shard_cell;

			forboth(member_cell, copy->members, shard_cell, target->shards)
			{
				const GroupMember *member = lfirst(member_cell);

				if (target->node == node && member->has_rows)
					names =
						lappend(names, name_shard_qualified(
										   member->relid, *(int64 *) lfirst(shard_cell)));
			}
		}
		group_lock_on_node(node, names, mode);
	}
}

/*
 * Nobody reads a copy before its node knows that it is a shard: who has a snapshot from
 * before the last round would take it for a table like others (executor/arrived.c). Other
 * nodes may know of the switch first, and the leading node's own backends learn of it
 * only when all others do.
 */
static void
keep_readers_out(const GroupCopy *copy)
{
	lock_targets(copy, "ACCESS EXCLUSIVE");
}

/*
 * Writers are locked out. A writer that could not reach the source before has gone on
 * with other copies, and the source's are what they were.
 */
static void
require_source(const GroupCopy *copy)
{
	foreach_ptr (GroupMember, member, copy->members)
	{
		const DistTable *table;
		const Shard *shard = group_shard_require(member->shard_id, &table);

		if (placement_on(shard, copy->source->group) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("shard " INT64_FORMAT " on node %s:%d has been marked as "
							"lost while it was copied",
							shard->id, copy->source->host, copy->source->port),
					 errhint("Repair it with citus_copy_shard_placement().")));
	}
}

List *
group_copy_nodes(const GroupCopy *copy)
{
	List *nodes = NIL;

	foreach_ptr (CopyTarget, target, copy->targets)
		nodes = list_append_unique_ptr(nodes, (void *) target->node);
	return nodes;
}

void
group_copy_commits_first(const GroupCopy *copy)
{
	foreach_ptr (DistNode, node, group_copy_nodes(copy))
		xact_commit_first(node);
}

/* Rows that come to a shard are no changes of the table. */
static void
pause_capture(const GroupCopy *copy, bool pause)
{
	capture_pause_on(group_copy_nodes(copy), pause);
}

/* Writers wait from the start. */
static void
fill_blocking(const GroupCopy *copy)
{
	move_progress_set(copy->shard_id, MOVE_SETTING_UP);
	lock_source(copy, "SHARE");
	create_tables(copy);
	DEBUG_POINT("move-after-create");
	move_progress_set(copy->shard_id, MOVE_COPYING_DATA);
	pause_capture(copy, true);
	foreach_ptr (CopyTarget, target, copy->targets)
		transfer_rows(copy, target);
	pause_capture(copy, false);
	foreach_ptr (CopyTarget, target, copy->targets)
		move_parts_end(target->shards, list_make1((void *) target->node));
	DEBUG_POINT("move-after-copy");
	move_progress_set(copy->shard_id, MOVE_CREATING_CONSTRAINTS);
	create_targets(copy, "indexes");
	create_targets(copy, "foreign_keys");
	if (!copy->joins)
		group_lock(copy->tables, AccessExclusiveLock);
}

static void
catch_up(void *arg)
{
	List *moves = NIL;

	foreach_ptr (OnlineCopy, online, (List *) arg)
		moves = lappend(moves, online->move);
	online_move_catch_up(moves);
	DEBUG_POINT("online-before-lock");
}

static void
complete_local(const OnlineCopy *online)
{
	/* For the choice of a group at the switch. */
	group_lock_colocation();
	/* The source's session reads the tables themselves. */
	group_lock_here(online->copy->tables, ExclusiveLock);
	online_move_finish(online->move);
	group_lock_here(online->copy->tables, AccessExclusiveLock);
	keep_readers_out(online->copy);
}

/* The tables of all copies, in the order of locks. */
static List *
tables_of(List *copies)
{
	List *tables = NIL;

	foreach_ptr (OnlineCopy, online, copies)
		tables = list_concat_unique_oid(tables, online->copy->tables);
	list_sort(tables, table_depth_cmp);
	return tables;
}

/* The last changes. */
static void
finish(const OnlineCopy *online)
{
	online_move_finish(online->move);
	create_targets(online->copy, "foreign_keys_held");
	keep_readers_out(online->copy);
}

/*
 * Writers and readers wait from here on. Not writers first: a transaction that has read a
 * table and then writes to it would wait for this one, which would wait for it.
 */
static void
complete(void *arg)
{
	List *copies = arg;
	const OnlineCopy *first = linitial(copies);

	if (first->copy->local)
	{
		complete_local(first);
		return;
	}
	group_lock(tables_of(copies), AccessExclusiveLock);
	foreach_ptr (OnlineCopy, online, copies)
	{
		require_source(online->copy);
		lock_source(online->copy, "SHARE");
	}
	foreach_ptr (OnlineCopy, online, copies)
	{
		if (!online->copy->joins)
			finish(online);
	}
}

/* All rows or an error, also where row security has been enabled since the check. */
static int
without_row_security(void)
{
	int guc_level = NewGUCNestLevel();

	(void) set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return guc_level;
}

OnlineMove *
group_copy_prepare(const GroupCopy *copy)
{
	int guc_level;
	OnlineMove *move;

	disk_space_require(copy);
	guc_level = without_row_security();
	move = online_move_begin(copy);
	PG_TRY();
	{
		/* Nobody may rewrite or empty a shard while places in it mean rows. */
		lock_source(copy, "ACCESS SHARE");
		online_move_fill(move);
		/* Nor be in VACUUM at the switch, which can't wait as long as that may take. Not
		 * before changes are noted and indexes are there: making the trigger, or an index
		 * of a copy, would wait for this lock. */
		lock_source(copy, "SHARE UPDATE EXCLUSIVE");
		lock_targets(copy, "SHARE UPDATE EXCLUSIVE");
		online_move_catch_up(list_make1(move));
	}
	PG_CATCH();
	{
		online_move_close_broken();
		PG_RE_THROW();
	}
	PG_END_TRY();
	AtEOXact_GUC(true, guc_level);
	return move;
}

void
group_copy_switch(List *copies)
{
	int guc_level = without_row_security();

	PG_TRY();
	{
		catch_up(copies);
		group_lock_for(tables_of(copies), catch_up, complete, copies);
		/* What an attempt that fails would take back on the node that joins. */
		foreach_ptr (OnlineCopy, online, copies)
		{
			if (online->copy->joins)
				finish(online);
		}
	}
	PG_CATCH();
	{
		online_move_close_broken();
		PG_RE_THROW();
	}
	PG_END_TRY();
	AtEOXact_GUC(true, guc_level);
}

OnlineMove *
group_copy_fill(const GroupCopy *copy, bool online)
{
	OnlineCopy one = {.copy = copy};
	int guc_level;

	if (online)
	{
		one.move = group_copy_prepare(copy);
		group_copy_switch(list_make1(&one));
		return one.move;
	}
	disk_space_require(copy);
	guc_level = without_row_security();
	fill_blocking(copy);
	AtEOXact_GUC(true, guc_level);
	return NULL;
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
	xact_run_on_nodes(nodes_left(copy), sql.data);
}

void
group_copy_settle(OnlineMove *online)
{
	if (online != NULL)
		online_move_settle(online);
}
