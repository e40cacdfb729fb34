/*
 * savepoint.c: subtransactions on other nodes, on both sides.
 *
 * A subtransaction that is aborted here is rolled back at once on the nodes that it used.
 * What runs there is cancelled first. A cancel that came before the node has made the
 * subtransaction's savepoint, which travels with the statement, would abort all of the
 * node's transaction. So a node tells as soon as a savepoint is made, ahead of what else
 * it has to say, and no cancel is sent before. It does so by a parameter of the protocol
 * (SESSION_SAVEPOINT), which libpq keeps.
 */
#include "pando/compat/compat.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "libpq/libpq.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pando/base/debug_point.h"
#include "pando/transaction/member.h"
#include "tcop/tcopprot.h"

#define SLOW_ROLLBACK "It did not roll back to a savepoint in time."

/*
 * How many savepoints this backend has made for other nodes, and the one whose
 * subtransaction is the next; or "".
 */
static uint32 made = 0;
static char next[NAMEDATALEN] = "";

void
savepoint_before(const TransactionStmt *statement)
{
	next[0] = '\0';
	if (statement->kind != TRANS_STMT_SAVEPOINT || !identity_is_node_session() ||
		whereToSendOutput != DestRemote)
		return;
	DEBUG_POINT("node-before-savepoint");
	strlcpy(next, statement->savepoint_name, NAMEDATALEN);
}

/*
 * ParameterStatus, at once. The subtransaction has begun: nothing handles a cancel from
 * here until it is the current one for all purposes. Must not raise.
 */
static void
tell_made(void)
{
	char message[sizeof(SESSION_SAVEPOINT) + SESSION_SAVEPOINT_LENGTH];
	int length = sizeof(SESSION_SAVEPOINT);

	memcpy(message, SESSION_SAVEPOINT, length);
	length += snprintf(message + length, SESSION_SAVEPOINT_LENGTH, "%s %d %u", next,
					   MyProcPid, ++made) +
			  1;
	next[0] = '\0';
	(void) pq_putmessage('S', message, length);
	(void) pq_flush();
}

/* The level ends well: what was done in it belongs to the level around it. */
static void
subxact_commit(int level)
{
	foreach_ptr (Member, member, members)
	{
		if (member->session->savepoint_depth >= level)
			member->session->savepoint_depth = level - 1;
		if (member->joined_level >= level)
			member->joined_level = level - 1;
		if (member->read_only_level >= level)
			member->read_only_level = level - 1;
	}
}

/* Rolls one session back to the level's savepoint; false: nothing was sent. */
static bool
start_subxact_rollback(Member *member, int level)
{
	Session *session = member->session;
	char sql[128];

	if (session->state != SESSION_IDLE)
		return false;
	snprintf(sql, sizeof(sql),
			 "ROLLBACK TO SAVEPOINT pando_%d;RELEASE SAVEPOINT pando_%d", level, level);
	session_send_simple(session, sql);
	return true;
}

/*
 * What began before the level can't be begun anew, so its sessions are not to be
 * cancelled before they have the level's savepoint. A node that takes too long for it is
 * given up.
 */
static void
await_savepoints(int level)
{
	List *joined_before = NIL;

	foreach_ptr (Member, member, members)
	{
		if (member->session->savepoint_depth >= level && member->joined_level < level)
			joined_before = lappend(joined_before, member->session);
	}
	session_await_savepoints(joined_before, CANCEL_MS);
	list_free(joined_before);
}

static void
subxact_abort(int level)
{
	List *touched = NIL;
	List *joined_here = NIL; /* cancelled, they may not have got to the savepoint */
	List *joined_before = NIL;

	foreach_ptr (Member, member, members)
	{
		/* A flight of an outer level may go on where the level itself sent nothing. */
		member_unpromise(member);
		if (member->session->in_xact && member->session->savepoint_depth >= level)
			touched = lappend(touched, member->session);
	}
	if (touched == NIL)
		return;
	DEBUG_POINT_NO_ERROR("savepoint-before-rollback");
	await_savepoints(level);
	cancel_all(touched);
	foreach_ptr (Member, member, members)
	{
		if (!list_member_ptr(touched, member->session) ||
			!start_subxact_rollback(member, level))
			continue;
		if (member->joined_level >= level)
			joined_here = lappend(joined_here, member->session);
		else
			joined_before = lappend(joined_before, member->session);
	}
	(void) settle(joined_here, ROLLBACK_MS, DEBUG1);
	(void) settle(joined_before, ROLLBACK_MS, WARNING);
	abandon(joined_here, SLOW_ROLLBACK, WARNING);
	abandon(joined_before, SLOW_ROLLBACK, WARNING);
	foreach_ptr (Member, member, list_copy(members))
	{
		Session *session = member->session;

		if (!list_member_ptr(touched, session))
			continue;
		member_settings_undone(member);
		if (member->read_only_level >= level)
			member->read_only = false;
		if (session->savepoint_depth >= level)
			session->savepoint_depth = level - 1;
		if (member->sent_level >= level)
			member->sent_level = level - 1;
		/*
		 * A session that only knew this level takes its trouble away with it. The
		 * transaction itself may not have begun there when the cancel came.
		 */
		if (member->joined_level >= level &&
			(session->state != SESSION_IDLE ||
			 PQtransactionStatus(session->conn) != PQTRANS_INTRANS))
			member_forget(member);
		else if (member->joined_level >= level)
			member->joined_level = level - 1;
	}
	list_free(joined_here);
	list_free(joined_before);
}

static void
subxact_callback(SubXactEvent event, SubTransactionId mine, SubTransactionId parent,
				 void *arg)
{
	if (IsParallelWorker())
		return;
	if (event == SUBXACT_EVENT_START_SUB && next[0] != '\0')
		tell_made();
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		subxact_commit(GetCurrentTransactionNestLevel());
	else if (event == SUBXACT_EVENT_ABORT_SUB)
		subxact_abort(GetCurrentTransactionNestLevel());
	if (event == SUBXACT_EVENT_COMMIT_SUB || event == SUBXACT_EVENT_ABORT_SUB)
		settings_level_ends(false);
}

void
savepoint_init(void)
{
	RegisterSubXactCallback(subxact_callback, NULL);
}
