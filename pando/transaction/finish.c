/*
 * finish.c: how a distributed transaction and its subtransactions end.
 *
 * At pre-commit everything may still fail: nodes that only read are let go, one that is
 * the only writer commits, several are prepared. After the local commit, and at abort,
 * nothing may be raised and interrupts are held off, so each wait there has a limit; a
 * session that has not settled by then is closed, which makes its node roll back what was
 * not prepared.
 */
#include "pando/compat/compat.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pando/base/debug_point.h"
#include "pando/transaction/member.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define ROLLBACK_MS 10000

#define MAX_CALLBACKS 16
static XactMomentCallback callbacks[MAX_CALLBACKS];
static int ncallbacks = 0;

void
xact_register(XactMomentCallback callback)
{
	if (ncallbacks >= MAX_CALLBACKS)
		elog(FATAL, "too many transaction callbacks");
	callbacks[ncallbacks++] = callback;
}

static void
call_back(XactMoment moment, bool committed)
{
	for (int i = 0; i < ncallbacks; i++)
		callbacks[i](moment, committed);
}

static bool
is_over(const Session *session)
{
	return session->state == SESSION_IDLE || session->state == SESSION_DEAD;
}

/*
 * Waits until all flights are over, throwing their results away; errors are reported as
 * WARNING. Returns false, with the laggards still under way, when the time is over or the
 * backend is asked to stop.
 */
bool
settle(List *sessions, long timeout_ms)
{
	TimestampTz start = GetCurrentTimestamp();

	for (;;)
	{
		bool all_over = true;
		long left;

		foreach_ptr (Session, session, sessions)
		{
			PGresult *result;

			while ((result = session_result(session)) != NULL)
			{
				if (PQresultStatus(result) == PGRES_FATAL_ERROR)
				{
					session->failed = true;
					session_raise(session, result, WARNING);
				}
				session_result_free(result);
			}
			if (!is_over(session))
				all_over = false;
		}
		if (all_over)
			return true;
		left = timeout_ms - TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
		if (left <= 0)
			return false;
		if (session_wait_any(sessions, left) == NULL)
			break;
	}
	foreach_ptr (Session, session, sessions)
	{
		if (!is_over(session))
			return false;
	}
	return true;
}

/*
 * Ends the transaction on nodes where nothing has to be prepared: those that read, and
 * the writer if there is but one and two_phase is not needed.
 */
static void
commit_plainly(bool two_phase)
{
	List *sessions = NIL;

	foreach_ptr (Member, member, members)
	{
		Session *session = member->session;

		if (!session->in_xact || (session->wrote && two_phase))
			continue;
		if (session->state == SESSION_DEAD && !session->wrote)
			continue;
		/* Only a preamble, never sent: there is nothing to end. */
		if (session->state == SESSION_IDLE &&
			PQtransactionStatus(session->conn) == PQTRANS_IDLE)
		{
			resetStringInfo(&session->preamble);
			session->in_xact = false;
			member_settings_undone(member);
			continue;
		}
		if (session->state == SESSION_CONNECTING)
			continue;
		resetStringInfo(&session->preamble);
		session_send_simple(session, "COMMIT");
		sessions = lappend(sessions, session);
	}
	foreach_ptr (Session, session, sessions)
	{
		PGresult *result = session_finish(session);
		bool failed = result == NULL || strcmp(PQcmdStatus(result), "COMMIT") != 0;

		session_result_free(result);
		session->in_xact = false;
		if (failed && session->wrote)
			ereport(ERROR, (errcode(ERRCODE_IN_FAILED_SQL_TRANSACTION),
							errmsg("the transaction failed on the remote node %s:%d",
								   session->address.host, session->address.port)));
	}
	list_free(sessions);
}

static void
pre_commit(void)
{
	bool two_phase;

	call_back(XACT_MOMENT_PREPARE, false);
	if (members == NIL)
		return;
	foreach_ptr (Member, member, members)
	{
		if (member->session->wrote && member->session->state == SESSION_DEAD)
			session_raise_lost(member->session, ERROR);
	}
	two_phase = two_phase_needed();
	commit_plainly(two_phase);
	if (two_phase)
		two_phase_prepare();
}

/* Gives back all sessions of the transaction, and what others claimed and forgot. */
static void
release_all(void)
{
	foreach_ptr (Session, session, session_claimed_list())
	{
		session->gid = NULL;
		session->in_xact = false;
		session_release(session);
	}
	members_reset();
	identity_transaction_end();
}

static void
post_commit(void)
{
	bool prepared = false;

	foreach_ptr (Member, member, members)
		prepared |= member->session->gid != NULL;
	if (prepared)
	{
		DEBUG_POINT("commit-before-second-phase");
		two_phase_commit();
	}
	release_all();
	call_back(XACT_MOMENT_END, true);
}

/* Starts the rollback of one session; closes those where there is nothing to talk to. */
static bool
start_rollback(Session *session)
{
	char sql[256];

	session_cancel(session);
	if (session->state != SESSION_IDLE)
		return false;
	resetStringInfo(&session->preamble);
	if (session->gid != NULL && PQtransactionStatus(session->conn) == PQTRANS_IDLE)
		snprintf(sql, sizeof(sql), "ROLLBACK PREPARED '%s'", session->gid);
	else if (PQtransactionStatus(session->conn) != PQTRANS_IDLE)
		strlcpy(sql, "ROLLBACK", sizeof(sql));
	else
		return false;
	session_send_simple(session, sql);
	return true;
}

static void
abort_all(void)
{
	List *sessions = NIL;

	if (session_claimed_list() == NIL)
		return;
	DEBUG_POINT("abort-before-rollback");
	foreach_ptr (Session, session, session_claimed_list())
	{
		if (start_rollback(session))
			sessions = lappend(sessions, session);
	}
	(void) settle(sessions, ROLLBACK_MS);
	foreach_ptr (Member, member, members)
		member_settings_undone(member);
	foreach_ptr (Session, session, session_claimed_list())
	{
		session->failed = session->state == SESSION_IDLE &&
						  PQtransactionStatus(session->conn) != PQTRANS_IDLE;
	}
}

static void
refuse_prepare(void)
{
	if (members != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that has used other nodes")));
}

static void
xact_callback(XactEvent event, void *arg)
{
	if (IsParallelWorker())
		return;
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			pre_commit();
			break;
		case XACT_EVENT_COMMIT:
			post_commit();
			break;
		case XACT_EVENT_ABORT:
			abort_all();
			release_all();
			call_back(XACT_MOMENT_END, false);
			break;
		case XACT_EVENT_PRE_PREPARE:
			refuse_prepare();
			break;
		case XACT_EVENT_PREPARE:
			release_all();
			call_back(XACT_MOMENT_END, true);
			break;
		default:
			break;
	}
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
	}
}

/* Rolls one session back to the level's savepoint; false: nothing was sent. */
static bool
start_subxact_rollback(Member *member, int level)
{
	Session *session = member->session;
	char sql[128];

	if (!session->in_xact || session->savepoint_depth < level)
		return false;
	session_cancel(session);
	if (session->state != SESSION_IDLE)
		return false;
	if (PQtransactionStatus(session->conn) == PQTRANS_IDLE)
	{
		/* BEGIN was never sent: the session has yet to join. */
		resetStringInfo(&session->preamble);
		session->in_xact = false;
		session->wrote = false;
		session->savepoint_depth = 0;
		return false;
	}
	snprintf(sql, sizeof(sql),
			 "ROLLBACK TO SAVEPOINT pando_%d;RELEASE SAVEPOINT pando_%d", level, level);
	session_send_simple(session, sql);
	return true;
}

static void
subxact_abort(int level)
{
	List *sessions = NIL;

	if (members == NIL)
		return;
	foreach_ptr (Member, member, members)
	{
		if (start_subxact_rollback(member, level))
			sessions = lappend(sessions, member->session);
	}
	(void) settle(sessions, ROLLBACK_MS);
	foreach_ptr (Member, member, list_copy(members))
	{
		Session *session = member->session;

		member_settings_undone(member);
		if (session->savepoint_depth >= level)
			session->savepoint_depth = level - 1;
		if (member->sent_level >= level)
			member->sent_level = level - 1;
		/* A session that only knew this level takes its trouble away with it. */
		if (member->joined_level >= level &&
			(session->state != SESSION_IDLE || session->failed))
			member_forget(member);
	}
	list_free(sessions);
}

static void
subxact_callback(SubXactEvent event, SubTransactionId mine, SubTransactionId parent,
				 void *arg)
{
	if (IsParallelWorker())
		return;
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		subxact_commit(GetCurrentTransactionNestLevel());
	else if (event == SUBXACT_EVENT_ABORT_SUB)
		subxact_abort(GetCurrentTransactionNestLevel());
}

void
finish_register(void)
{
	RegisterXactCallback(xact_callback, NULL);
	RegisterSubXactCallback(subxact_callback, NULL);
}
