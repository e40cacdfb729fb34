/*
 * online_move.c: filling the copies of an online move while the shards are written to.
 *
 * Sessions outside of the caller's transaction, one to the source and one to each node
 * that has targets (any may be this node), do the work, for all moves of the transaction:
 *
 *   1. The records of what will be made (cleanup.c), then the targets' bare tables.
 *   2. On the source, triggers that note the places of rows that change (move_part.c).
 *   3. All rows with their places, as of one snapshot of the source, which is taken when
 * the triggers are there. Each target gets those that are its own, and keeps where they
 * went.
 *   4. Indexes and constraints; foreign keys come with the switch and are not checked
 * again: the source's have been.
 *   5. Rounds: under a new snapshot the places noted since the last one; each target
 * deletes what it has from these places and gets what is there now, if it is its own. So
 * it is its part of the source as of that snapshot, whatever the order of changes was;
 * rows need no key, and may go from one target to another.
 *   6. Writers are locked out and one more round brings the rest.
 *
 * The targets' sessions must last to the end: where rows went is in its temporary tables.
 * Any loss or error ends the move; cleanup.c takes away what was made.
 */
#include "pando/compat/compat.h"

#include "libpq-fe.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/base/nap.h"
#include "pando/base/sql.h"
#include "pando/cluster/cleanup.h"
#include "pando/cluster/group_lock.h"
#include "pando/cluster/move_part.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/online_move.h"
#include "pando/cluster/transfer.h"
#include "pando/ddl/table_def.h"
#include "pando/transaction/access.h"
#include "pando/transaction/xact.h"

/* A trigger waits so long for a shard's writers, while others wait behind it; then they
 * go first. */
#define CAPTURE_WAIT "500ms"
#define CAPTURE_PAUSE_MS 500

/* It holds nobody up, and nothing has been copied yet: it may take long. */
#define LONG_PATIENCE_MS (24L * 3600 * 1000)

/* A round that takes less is the last one. After so many, one that takes less than what
 * writers can be asked to wait will do. */
#define LAST_ROUND_MS 200
#define MAX_ROUNDS 50
#define MAX_LAST_ROUND_MS 2000

/* A session outside of the transaction, for all of its moves. */
typedef struct MoveSession
{
	Session *session;
	int32 group;
	Oid user;
	bool receives;
} MoveSession;

static List *move_sessions = NIL; /* in the transaction's memory */

struct OnlineMove
{
	const GroupCopy *copy;
	int64 operation;
	Session *source;
	List *sessions;		   /* to each node that has targets; one for all that it has. None
							* for a node that joins */
	List *nodes;		   /* those nodes */
	MemoryContext context; /* its own memory */
	char *seen;			   /* pg_snapshot of the source that the targets are at */
};

Session *
online_move_session(const DistNode *node)
{
	NodeAddress address = {.node_id = node->id,
						   .group = node->group,
						   .host = node->host,
						   .port = node->port};

	return session_claim_apart(&address, GetUserId());
}

static void
run(Session *session, const char *sql)
{
	PGresult *result = session_run(session, sql);

	if (result != NULL)
		session_result_free(result);
}

/* One that is there, or a new one, with what it needs at first. */
static Session *
claim(const DistNode *node, bool receives)
{
	MemoryContext old;
	MoveSession *added;

	foreach_ptr (MoveSession, known, move_sessions)
	{
		if (known->group == node->group && known->user == GetUserId() &&
			known->receives == receives && known->session->state == SESSION_IDLE)
			return known->session;
	}
	old = MemoryContextSwitchTo(TopTransactionContext);
	added = palloc0(sizeof(MoveSession));
	added->session = online_move_session(node);
	added->group = node->group;
	added->user = GetUserId();
	added->receives = receives;
	move_sessions = lappend(move_sessions, added);
	MemoryContextSwitchTo(old);
	run(added->session, "SET row_security = off");
	/* Its temporary tables are in memory, or near it. */
	if (receives)
		run(added->session, "SET temp_buffers = '64MB'; SET random_page_cost = 1; "
							"SET lock_timeout = 0");
	return added->session;
}

void
online_move_close_broken(void)
{
	ListCell *cell;

	foreach (cell, move_sessions)
	{
		Session *session = ((MoveSession *) lfirst(cell))->session;

		if (session->state != SESSION_IDLE ||
			PQtransactionStatus(session->conn) != PQTRANS_IDLE)
			session_abandon(session, "The move failed.");
	}
}

void
online_move_close_sessions(void)
{
	List *sessions = move_sessions;

	move_sessions = NIL;
	foreach_ptr (MoveSession, known, sessions)
		session_close(known->session);
}

/* pando.<function>(shell, shard <more>) of a member. */
static char *
member_call(const GroupMember *member, const char *function, const char *more)
{
	return psprintf("SELECT pando.%s(%s::pg_catalog.regclass, " INT64_FORMAT "%s)",
					function, quote_literal_cstr(member->name), member->shard_id, more);
}

char *
group_arrays(List *members, const CopyTarget *target)
{
	List *names = NIL;
	StringInfoData arrays;
	const char *separator = "::pg_catalog.regclass[], '{";

	initStringInfo(&arrays);
	foreach_ptr (GroupMember, member, members)
		names = lappend(names, member->name);
	sql_append_text_array(&arrays, names);
	foreach_ptr (int64, id, target->shards)
	{
		appendStringInfo(&arrays, "%s" INT64_FORMAT, separator, *id);
		separator = ",";
	}
	appendStringInfoString(&arrays, "}'");
	return arrays.data;
}

static void
add_parts(List **parts, const GroupCopy *copy, List *shards, const DistNode *node)
{
	ListCell *member_cell;
	ListCell *shard_cell;

	forboth(member_cell, copy->members, shard_cell, shards)
	{
		CleanupPart *part = palloc0(sizeof(CleanupPart));

		part->relid = ((GroupMember *) lfirst(member_cell))->relid;
		part->shard_id = *(int64 *) lfirst(shard_cell);
		part->group = node->group;
		*parts = lappend(*parts, part);
	}
}

static List *
source_shards(const GroupCopy *copy)
{
	List *shards = NIL;

	foreach_ptr (GroupMember, member, copy->members)
		shards = lappend(shards, &member->shard_id);
	return shards;
}

OnlineMove *
online_move_begin(const GroupCopy *copy)
{
	OnlineMove *move = palloc0(sizeof(OnlineMove));
	List *parts = NIL;

	move->context = CurrentMemoryContext;
	move->copy = copy;
	add_parts(&parts, copy, source_shards(copy), copy->source);
	move->nodes = group_copy_nodes(copy);
	/* What is made on a node that joins goes with the transaction. */
	if (!copy->joins)
	{
		foreach_ptr (CopyTarget, target, copy->targets)
			add_parts(&parts, copy, target->shards, target->node);
	}
	move->operation = cleanup_begin(parts);
	return move;
}

static Session *
session_of(const OnlineMove *move, const DistNode *node)
{
	ListCell *session_cell;
	ListCell *node_cell;

	if (move->copy->joins)
		return xact_session(node, XACT_WRITE);
	forboth(session_cell, move->sessions, node_cell, move->nodes)
	{
		if (lfirst(node_cell) == node)
			return lfirst(session_cell);
	}
	elog(ERROR, "no session to node %s:%d", node->host, node->port);
}

/* ------------------------------------------------------------------------------------
 * The first copy.
 */

/* Waits for the end of the request; true if it succeeded, false if it ran into its
 * lock_timeout. */
static bool
finish_unless_locked(Session *session)
{
	bool locked = false;

	while (session->state != SESSION_IDLE)
	{
		PGresult *result;

		session_wait_any(list_make1(session), -1);
		while ((result = session_result(session)) != NULL)
		{
			if (PQresultStatus(result) == PGRES_FATAL_ERROR)
			{
				if (!session_error_is(result, ERRCODE_LOCK_NOT_AVAILABLE))
					session_raise(session, result, ERROR);
				locked = true;
			}
			session_result_free(result);
		}
		if (session->state == SESSION_DEAD)
			session_raise_lost(session, ERROR);
	}
	return !locked;
}

/* One trigger at a time: holding one while waiting for the next could be a deadlock. */
static void
capture(OnlineMove *move)
{
	TimestampTz end = group_lock_patience(LONG_PATIENCE_MS);

	run(move->source, "SET lock_timeout = '" CAPTURE_WAIT "'");
	foreach_ptr (GroupMember, member, move->copy->members)
	{
		if (!member->has_rows)
			continue;
		for (;;)
		{
			session_send_simple(
				move->source,
				access_sign_order(move->source, member_call(member, "move_capture", "")));
			if (finish_unless_locked(move->source))
				break;
			if (GetCurrentTimestamp() > end)
				group_lock_raise(move->copy->tables);
			nap(CAPTURE_PAUSE_MS);
		}
	}
	run(move->source, "SET lock_timeout = 0");
}

/* Returns the snapshot, as text of a pg_snapshot. *lsn: it sees what was committed by
 * then. */
static char *
begin_snapshot(OnlineMove *move, XLogRecPtr *lsn)
{
	PGresult *result;
	char *snapshot;

	result = session_run(move->source, "SELECT pg_catalog.pg_current_wal_insert_lsn()");
	*lsn = DatumGetLSN(
		DirectFunctionCall1(pg_lsn_in, CStringGetDatum(session_value(result, 0, 0))));
	session_result_free(result);
	result = session_run(move->source, "BEGIN ISOLATION LEVEL REPEATABLE READ; "
									   "SELECT pg_catalog.pg_current_snapshot()");
	snapshot = MemoryContextStrdup(move->context, session_value(result, 0, 0));
	session_result_free(result);
	return snapshot;
}

/* Rows of a member for one of the targets; places as in shard_transfer_placed(). */
static void
transfer(OnlineMove *move, const CopyTarget *target, int member_index, const char *places)
{
	const GroupMember *member = list_nth(move->copy->members, member_index);
	Session *to = session_of(move, target->node);
	TransferPart part = {member->relid,
						 member->shard_id,
						 *(int64 *) list_nth(target->shards, member_index),
						 target->range,
						 move->copy->local,
						 member->key,
						 move->copy->joins ? MOVE_SCHEMA_SHARED : MOVE_SCHEMA_TEMPORARY};

	if (places == NULL)
		shard_transfer_prepare(&part, to);
	shard_transfer_placed(&part, move->source, to, places);
}

static void
run_on_targets(OnlineMove *move, const char *sql)
{
	foreach_ptr (DistNode, node, move->nodes)
		run(session_of(move, node), sql);
}

/* Each round is a transaction of the targets; a node that joins has one for all. */
static void
begin_targets(OnlineMove *move)
{
	if (!move->copy->joins)
		run_on_targets(move, "BEGIN");
	run_on_targets(move, "SET CONSTRAINTS ALL DEFERRED");
}

static void
commit_targets(OnlineMove *move)
{
	if (!move->copy->joins)
		run_on_targets(move, "COMMIT");
}

/* Commands that make the tables, as shards have them up to that stage, under their own
 * names. */
static char *
shell_commands(const GroupCopy *copy, ShardStage last)
{
	List *commands = NIL;

	foreach_ptr (GroupMember, member, copy->members)
	{
		for (int stage = SHARD_STAGE_TABLE; stage <= last; stage++)
			commands =
				list_concat(commands, table_def_shard_commands(member->relid, stage));
	}
	return sql_join(commands);
}

static char *
drop_command(const GroupCopy *copy)
{
	StringInfoData sql;
	const char *separator = "DROP TABLE ";

	initStringInfo(&sql);
	foreach_ptr (GroupMember, member, copy->members)
	{
		appendStringInfo(&sql, "%s%s", separator, member->name);
		separator = ", ";
	}
	return sql.data;
}

/*
 * A stage of the targets' tables. A node makes them from shells; where there are none
 * yet, it has some for as long as the transaction, so that nobody else ever sees them.
 */
static void
create_targets(OnlineMove *move, ShardStage stage)
{
	const GroupCopy *copy = move->copy;
	bool tables = stage == SHARD_STAGE_TABLE;
	const char *call = tables ? "SELECT pando.move_create(%s)"
							  : "SELECT pando.shard_group_create(%s, 'indexes')";

	foreach_ptr (DistNode, node, move->nodes)
	{
		Session *session = session_of(move, node);
		bool lacks_shells = copy->local && node->group != copy->source->group;

		if (lacks_shells)
		{
			run(session, "BEGIN");
			run(session, shell_commands(copy, stage));
		}
		foreach_ptr (CopyTarget, target, copy->targets)
		{
			char *sql;

			if (target->node != node)
				continue;
			sql = psprintf(call, group_arrays(copy->members, target));
			run(session, tables ? access_sign_order(session, sql) : sql);
		}
		if (lacks_shells)
		{
			run(session, drop_command(copy));
			run(session, "COMMIT");
		}
	}
}

void
online_move_fill(OnlineMove *move)
{
	const GroupCopy *copy = move->copy;
	XLogRecPtr lsn;

	DEBUG_POINT("online-after-record");
	move_progress_set(copy->shard_id, MOVE_SETTING_UP);
	move->source = claim(copy->source, false);
	foreach_ptr (DistNode, node, move->nodes)
	{
		if (!copy->joins)
			move->sessions = lappend(move->sessions, claim(node, true));
	}
	create_targets(move, SHARD_STAGE_TABLE);
	DEBUG_POINT("online-after-create");
	capture(move);
	DEBUG_POINT("online-after-capture");

	move_progress_set(copy->shard_id, MOVE_COPYING_DATA);
	move->seen = begin_snapshot(move, &lsn);
	for (int i = 0; i < list_length(copy->members); i++)
	{
		if (!((GroupMember *) list_nth(copy->members, i))->has_rows)
			continue;
		foreach_ptr (CopyTarget, target, copy->targets)
			transfer(move, target, i, NULL);
	}
	run(move->source, "COMMIT");
	move_progress_caught_up(lsn);
	DEBUG_POINT("online-after-copy");

	move_progress_set(copy->shard_id, MOVE_CREATING_CONSTRAINTS);
	create_targets(move, SHARD_STAGE_INDEXES);
	DEBUG_POINT("online-after-indexes");
}

/* ------------------------------------------------------------------------------------
 * Changes.
 */

/* The targets become the source as of now. */
static void
copy_changes(OnlineMove *move)
{
	char *since = quote_literal_cstr(move->seen);
	XLogRecPtr lsn;
	char *snapshot = begin_snapshot(move, &lsn);
	List *members = move->copy->members;

	begin_targets(move);
	for (int i = 0; i < list_length(members); i++)
	{
		const GroupMember *member = list_nth(members, i);
		PGresult *result;

		if (!member->has_rows)
			continue;
		result = session_run(
			move->source, member_call(member, "move_changes", psprintf(", %s", since)));
		if (PQntuples(result) == 1 && !PQgetisnull(result, 0, 0))
		{
			foreach_ptr (CopyTarget, target, move->copy->targets)
				transfer(move, target, i, session_value(result, 0, 0));
		}
		session_result_free(result);
	}
	commit_targets(move);
	run(move->source, "COMMIT");
	move_progress_caught_up(lsn);
	pfree(move->seen);
	move->seen = snapshot;
}

static void
raise_not_caught_up(OnlineMove *move, long took)
{
	const GroupCopy *copy = move->copy;

	if (copy->local)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("table %s changes faster than its shards can follow",
						name_qualified(linitial_oid(copy->tables))),
				 errdetail("Writers would wait about %ld ms for the switch.", took),
				 errhint("Try again when there are fewer writes, or use "
						 "create_distributed_table().")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("shard " INT64_FORMAT " and those colocated with it change faster "
					"than their copies can follow",
					copy->shard_id),
			 errdetail("Writers would wait about %ld ms for the switch.", took),
			 errhint("Try again when there are fewer writes, or use shard_transfer_mode "
					 "block_writes.")));
}

void
online_move_catch_up(List *moves)
{
	foreach_ptr (OnlineMove, move, moves)
		move_progress_set(move->copy->shard_id, MOVE_CATCHING_UP);
	for (int round = 1;; round++)
	{
		TimestampTz start = GetCurrentTimestamp();
		long took;

		foreach_ptr (OnlineMove, move, moves)
			copy_changes(move);
		took = TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
		if (took < (round < MAX_ROUNDS ? LAST_ROUND_MS : MAX_LAST_ROUND_MS))
			break;
		if (round >= 2 * MAX_ROUNDS)
			raise_not_caught_up(linitial(moves), took);
	}
	DEBUG_POINT("online-after-rounds");
}

void
online_move_finish(OnlineMove *move)
{
	copy_changes(move);
	DEBUG_POINT("online-after-last-round");
}

void
online_move_settle(OnlineMove *move)
{
	const GroupCopy *copy = move->copy;
	List *shards = source_shards(copy);

	foreach_ptr (CopyTarget, target, copy->targets)
		shards = list_concat(shards, target->shards);
	move_parts_end(shards,
				   list_append_unique_ptr(list_copy(move->nodes), (void *) copy->source));
	cleanup_end(move->operation);
}
