/*
 * online_move.c: filling the copies of an online move while the shards are written to.
 *
 * Two sessions outside of the caller's transaction, one to the source and one to the
 * target (either may be this node), do the work:
 *
 *   1. The records of what will be made (cleanup.c), then the bare tables on the target.
 *   2. On the source, triggers that note the places of rows that change (move_part.c).
 *   3. All rows with their places, as of one snapshot of the source, which is taken when
 * the triggers are there. The target keeps where each row of the source went.
 *   4. Indexes and constraints; foreign keys come with the switch and are not checked
 * again: the source's have been.
 *   5. Rounds: under a new snapshot the places noted since the last one; the target
 * deletes what it has from these places and gets what is there now. So it is the source
 * as of that snapshot, whatever the order of changes was, and rows need no key.
 *   6. Writers are locked out and one more round brings the rest.
 *
 * The target's session must last to the end: where rows went is in its temporary tables.
 * Any loss or error ends the move; cleanup.c takes away what was made.
 */
#include "pando/compat/compat.h"

#include "libpq-fe.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "pando/base/debug_point.h"
#include "pando/cluster/cleanup.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/online_move.h"
#include "pando/cluster/transfer.h"
#include "pando/transaction/xact.h"

/* A trigger waits so long for a shard's writers, while others wait behind it; then they
 * go first. */
#define CAPTURE_WAIT "500ms"
#define CAPTURE_PAUSE_MS 500

/* A round that takes less is the last one. After so many, one that takes less than what
 * writers can be asked to wait will do. */
#define LAST_ROUND_MS 200
#define MAX_ROUNDS 50
#define MAX_LAST_ROUND_MS 2000

struct OnlineMove
{
	List *members; /* MoveMember * */
	List *shards;  /* int64 * */
	int64 shard_id;
	int64 operation;
	const DistNode *source_node;
	const DistNode *target_node;
	Session *source;
	Session *target;
	MemoryContext context; /* its own memory */
	char *seen;			   /* pg_snapshot of the source that the target is at */
};

static Session *
session_to(const DistNode *node)
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

/* pando.<function>(shell, shard <more>) of a member. */
static char *
member_call(const MoveMember *member, const char *function, const char *more)
{
	return psprintf("SELECT pando.%s(%s::pg_catalog.regclass, " INT64_FORMAT "%s)",
					function, quote_literal_cstr(member->name), member->shard_id, more);
}

OnlineMove *
online_move_begin(List *members, int64 shard_id, const DistNode *source,
				  const DistNode *target)
{
	OnlineMove *move = palloc0(sizeof(OnlineMove));

	move->context = CurrentMemoryContext;
	move->members = members;
	foreach_ptr (MoveMember, member, members)
		move->shards = lappend(move->shards, &member->shard_id);
	move->shard_id = shard_id;
	move->source_node = source;
	move->target_node = target;
	move->operation = cleanup_begin(move->shards, source, target);
	return move;
}

/* ------------------------------------------------------------------------------------
 * The first copy.
 */

static void
nap(long ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms,
					 WAIT_EVENT_PG_SLEEP);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

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
				const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

				if (state == NULL || strcmp(state, "55P03") != 0)
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
	run(move->source, "SET lock_timeout = '" CAPTURE_WAIT "'");
	foreach_ptr (MoveMember, member, move->members)
	{
		if (!member->has_rows)
			continue;
		for (;;)
		{
			session_send_simple(move->source, member_call(member, "move_capture", ""));
			if (finish_unless_locked(move->source))
				break;
			nap(CAPTURE_PAUSE_MS);
		}
	}
	run(move->source, "SET lock_timeout = 0");
}

/* Returns the snapshot, as text of a pg_snapshot. */
static char *
begin_snapshot(OnlineMove *move)
{
	PGresult *result;
	char *snapshot;

	run(move->source, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	result = session_run(move->source, "SELECT pg_catalog.pg_current_snapshot()");
	snapshot = MemoryContextStrdup(move->context, session_value(result, 0, 0));
	session_result_free(result);
	return snapshot;
}

void
online_move_fill(OnlineMove *move)
{
	DEBUG_POINT("online-after-record");
	move_progress_set(move->shard_id, MOVE_SETTING_UP);
	move->source = session_to(move->source_node);
	move->target = session_to(move->target_node);
	run(move->target, "SET temp_buffers = '64MB'; SET lock_timeout = 0");
	foreach_ptr (MoveMember, member, move->members)
		run(move->target, member_call(member, "move_create", ""));
	DEBUG_POINT("online-after-create");
	capture(move);
	DEBUG_POINT("online-after-capture");

	move_progress_set(move->shard_id, MOVE_COPYING_DATA);
	move->seen = begin_snapshot(move);
	foreach_ptr (MoveMember, member, move->members)
	{
		if (!member->has_rows)
			continue;
		shard_transfer_prepare(member->relid, member->shard_id, move->target);
		shard_transfer_placed(member->relid, member->shard_id, move->source, move->target,
							  NULL);
	}
	run(move->source, "COMMIT");
	DEBUG_POINT("online-after-copy");

	move_progress_set(move->shard_id, MOVE_CREATING_CONSTRAINTS);
	foreach_ptr (MoveMember, member, move->members)
		run(move->target,
			psprintf("SELECT pando.shards_create(%s::pg_catalog.regclass, '{" INT64_FORMAT
					 "}', 'indexes')",
					 quote_literal_cstr(member->name), member->shard_id));
	DEBUG_POINT("online-after-indexes");
}

/* ------------------------------------------------------------------------------------
 * Changes.
 */

/* The target becomes the source as of now. */
static void
copy_changes(OnlineMove *move)
{
	char *since = quote_literal_cstr(move->seen);
	char *snapshot = begin_snapshot(move);

	run(move->target, "BEGIN");
	run(move->target, "SET CONSTRAINTS ALL DEFERRED");
	foreach_ptr (MoveMember, member, move->members)
	{
		PGresult *result;

		if (!member->has_rows)
			continue;
		result = session_run(
			move->source, member_call(member, "move_changes", psprintf(", %s", since)));
		if (PQntuples(result) == 1 && !PQgetisnull(result, 0, 0))
			shard_transfer_placed(member->relid, member->shard_id, move->source,
								  move->target, session_value(result, 0, 0));
		session_result_free(result);
	}
	run(move->target, "COMMIT");
	run(move->source, "COMMIT");
	pfree(move->seen);
	move->seen = snapshot;
}

static void
raise_not_caught_up(OnlineMove *move, long took)
{
	MoveMember *first = linitial(move->members);

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("shard " INT64_FORMAT " of table %s changes faster than its copy on "
					"node %s:%d can follow",
					first->shard_id, first->name, move->target_node->host,
					move->target_node->port),
			 errdetail("Writers would wait about %ld ms for the switch.", took),
			 errhint("Try again when there are fewer writes, or use shard_transfer_mode "
					 "block_writes.")));
}

void
online_move_catch_up(OnlineMove *move)
{
	move_progress_set(move->shard_id, MOVE_CATCHING_UP);
	for (int round = 1;; round++)
	{
		TimestampTz start = GetCurrentTimestamp();
		long took;

		copy_changes(move);
		took = TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
		if (took < (round < MAX_ROUNDS ? LAST_ROUND_MS : MAX_LAST_ROUND_MS))
			break;
		if (round >= 2 * MAX_ROUNDS)
			raise_not_caught_up(move, took);
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
online_move_close(OnlineMove *move)
{
	if (move->source != NULL)
		session_close(move->source);
	if (move->target != NULL)
		session_close(move->target);
	move->source = move->target = NULL;
}

void
online_move_settle(OnlineMove *move)
{
	StringInfoData ids;
	char *sql;

	initStringInfo(&ids);
	foreach_ptr (int64, id, move->shards)
		appendStringInfo(&ids, "%s" INT64_FORMAT, ids.len == 0 ? "" : ",", *id);
	sql = psprintf("SELECT pando.move_end('{%s}')", ids.data);
	xact_run_on_nodes(list_make2((void *) move->source_node, (void *) move->target_node),
					  sql);
	cleanup_end(move->operation);
}
