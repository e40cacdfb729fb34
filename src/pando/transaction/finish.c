/*
 * finish.c: how a distributed transaction ends (its subtransactions: savepoint.c).
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
#include "pando/transaction/maintenance.h"
#include "pando/transaction/member.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define CANCEL_AGAIN_MS 1000

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

/* Throws away what the flight brings, noting what became of prepared transactions. */
static void
take_outcome(Session *session, int elevel)
{
	PGresult *result;
	const char *data;

	while ((result = session_result(session)) != NULL)
	{
		const char *status = PQcmdStatus(result);

		if (PQresultStatus(result) == PGRES_FATAL_ERROR)
			session_raise(session, result, elevel);
		else if (strcmp(status, "COMMIT PREPARED") == 0 ||
				 strcmp(status, "ROLLBACK PREPARED") == 0)
			session->gid = NULL;
		session_result_free(result);
	}
	if (session->state == SESSION_COPY_IN)
		session_copy_end(session, "COPY was cancelled");
	while (session->state == SESSION_COPY_OUT && session_copy_get(session, &data) > 0)
		;
}

/*
 * Waits until all flights are over, throwing their results away; errors are reported at
 * elevel, below ERROR. Returns false, with the laggards still under way, when the time is
 * over or the backend is asked to stop. A cancel does not cut this short: what ends here
 * must end on every node alike, and the cancel concerns what comes after it.
 */
bool
settle(List *sessions, long timeout_ms, int elevel)
{
	TimestampTz start = GetCurrentTimestamp();
	bool cancelled = false;
	bool all_over;

	for (;;)
	{
		long left;

		all_over = true;
		foreach_ptr (Session, session, sessions)
		{
			take_outcome(session, elevel);
			if (!is_over(session))
				all_over = false;
		}
		left = timeout_ms - TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
		if (all_over || left <= 0 || ProcDiePending)
			break;
		if (QueryCancelPending)
		{
			cancelled = true;
			QueryCancelPending = false;
		}
		(void) session_wait_any(sessions, left);
	}
	if (cancelled)
	{
		QueryCancelPending = true;
		InterruptPending = true;
	}
	return all_over;
}

void
abandon(List *sessions, const char *why, int elevel)
{
	foreach_ptr (Session, session, sessions)
	{
		if (is_over(session))
			continue;
		ereport(elevel, (errcode(ERRCODE_CONNECTION_FAILURE),
						 errmsg("the remote node %s:%d was given up",
								session->address.host, session->address.port),
						 errdetail("%s", why)));
		session_abandon(session, why);
	}
}

/*
 * Cancels what runs on the sessions, all at once; those that don't end in time die. A
 * node that has not read the statement yet takes no notice of a cancel, so it is asked
 * again.
 */
void
cancel_all(List *sessions)
{
	for (int asked = 0; asked < CANCEL_MS / CANCEL_AGAIN_MS; asked++)
	{
		foreach_ptr (Session, session, sessions)
			session_cancel_start(session);
		if (settle(sessions, CANCEL_AGAIN_MS, DEBUG1))
			return;
		if (ProcDiePending)
			break;
	}
	abandon(sessions, "It did not end a cancelled command in time.", DEBUG1);
}

/* Nothing to commit there, but others wait until the rest is committed. */
static bool
only_locks(const Member *member)
{
	return member->locked && !member->session->wrote;
}

/* After the commit everywhere else: lets go of row locks. Must not raise. */
static void
release_locks(void)
{
	List *sessions = NIL;

	foreach_ptr (Member, member, members)
	{
		Session *session = member->session;

		if (!only_locks(member) || !session->in_xact || session->state != SESSION_IDLE)
			continue;
		session_send_simple(session, "COMMIT");
		sessions = lappend(sessions, session);
	}
	/* Sessions that don't answer are closed. */
	if (sessions != NIL)
		(void) settle(sessions, ROLLBACK_MS, DEBUG1);
	list_free(sessions);
}

/*
 * Does it make no difference when the node commits, nor whether? (A serializable
 * transaction that only reads can fail.)
 */
static bool
nothing_to_learn(const Member *member)
{
	const Session *session = member->session;

	return !member->did_more && !member->locked && !session->wrote && !session->failed &&
		   !session->pooled && !IsolationIsSerializable();
}

/*
 * Ends the transaction on nodes where nothing has to be prepared: those that read, and
 * the writer if there is but one and two_phase is not needed.
 */
void
commit_plainly(bool two_phase)
{
	List *sessions = NIL;

	foreach_ptr (Member, member, members)
	{
		Session *session = member->session;

		if (!session->in_xact || (session->wrote && two_phase) || only_locks(member))
			continue;
		if (session->state == SESSION_DEAD && !session->wrote)
			continue;
		if (session->state == SESSION_CONNECTING)
			continue;
		session_send_simple(session, "COMMIT");
		if (nothing_to_learn(member))
		{
			session->in_xact = false;
			session_leave(session);
		}
		else
			sessions = lappend(sessions, session);
	}
	if (sessions != NIL)
		DEBUG_POINT("commit-during-plain-commit");
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

/* Before a transaction ends well; raises if a node can't follow. */
void
members_make_ready(void)
{
	members_require_places();
	foreach_ptr (Member, member, members)
	{
		member_unpromise(member);
		/* What is prepared belongs to who will commit it. */
		if (member->session->in_xact && member->session->state == SESSION_IDLE)
			member_act(member, InvalidOid);
		if ((member->session->wrote || member->locked) &&
			member->session->state == SESSION_DEAD)
			session_raise_lost(member->session, ERROR);
	}
}

static void
pre_commit(void)
{
	bool two_phase;

	call_back(XACT_MOMENT_PREPARE, false);
	if (members == NIL)
		return;
	members_make_ready();
	two_phase = two_phase_needed();
	DEBUG_POINT("commit-before-plain-commit");
	commit_plainly(two_phase);
	if (two_phase)
		two_phase_prepare(false);
}

/* Gives back all sessions of the transaction, and what others claimed and forgot. */
static void
release_all(void)
{
	gate_leave();
	foreach_ptr (Session, session, session_claimed_list())
	{
		session->gid = NULL;
		session->in_xact = false;
		session_release(session);
	}
	session_share_idle();
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
		DEBUG_POINT_NO_ERROR("commit-before-second-phase");
		two_phase_commit();
		DEBUG_POINT_NO_ERROR("commit-after-second-phase");
	}
	gate_leave();
	release_locks();
	release_all();
	call_back(XACT_MOMENT_END, true);
}

/* Starts the rollback of one session; false: nothing was sent. */
static bool
start_rollback(Session *session)
{
	char sql[256];

	if (session->state != SESSION_IDLE)
		return false;
	resetStringInfo(&session->preamble);
	if (PQtransactionStatus(session->conn) != PQTRANS_IDLE)
	{
		session->gid = NULL; /* PREPARE did not come to pass */
		strlcpy(sql, "ROLLBACK", sizeof(sql));
	}
	else if (session->gid != NULL)
		snprintf(sql, sizeof(sql), "ROLLBACK PREPARED '%s'", session->gid);
	else
		return false;
	session_send_simple(session, sql);
	return true;
}

/* True when something may still be prepared on a node. */
static bool
abort_all(void)
{
	List *claimed = session_claimed_list();
	List *sessions = NIL;
	bool unsettled = false;

	if (claimed == NIL)
		return false;
	DEBUG_POINT_NO_ERROR("abort-before-rollback");
	cancel_all(claimed);
	foreach_ptr (Session, session, claimed)
	{
		if (start_rollback(session))
			sessions = lappend(sessions, session);
		DEBUG_POINT_NO_ERROR("abort-during-rollback");
	}
	/* A transaction that was never prepared is not worth a message. */
	(void) settle(sessions, ROLLBACK_MS, DEBUG1);
	DEBUG_POINT_NO_ERROR("abort-after-rollback");
	foreach_ptr (Session, session, claimed)
		unsettled |= session->gid != NULL;
	foreach_ptr (Member, member, members)
		member_settings_undone(member);
	return unsettled;
}

/* The part of another node's transaction, which knows nothing of what this one did
 * elsewhere. */
static void
pre_prepare_part(void)
{
	foreach_ptr (Member, member, members)
	{
		if (member->session->wrote)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot PREPARE a transaction that has used other nodes"),
					 errdetail("It is rolled back on all nodes.")));
	}
	/* It has sent rows of an exchange. */
	commit_plainly(false);
}

static void
pre_prepare(void)
{
	if (identity_is_node_session())
		pre_prepare_part();
	else
	{
		call_back(XACT_MOMENT_PREPARE, false);
		client_prepare();
	}
}

static void
xact_callback(XactEvent event, void *arg)
{
	bool unsettled;

	if (IsParallelWorker())
		return;
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
		event == XACT_EVENT_PREPARE)
		settings_level_ends(true);
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			pre_commit();
			/* What is done before it may read, too. */
			statement_snapshot_end(true);
			break;
		case XACT_EVENT_COMMIT:
			post_commit();
			break;
		case XACT_EVENT_ABORT:
			statement_snapshot_end(false);
			unsettled = abort_all();
			release_all();
			if (unsettled)
				maintenance_want(WISH_RECOVERY);
			call_back(XACT_MOMENT_END, false);
			break;
		case XACT_EVENT_PRE_PREPARE:
			pre_prepare();
			statement_snapshot_end(true);
			break;
		case XACT_EVENT_PREPARE:
			prepared_done();
			release_all();
			call_back(XACT_MOMENT_END, true);
			break;
		default:
			break;
	}
}

void
finish_register(void)
{
	RegisterXactCallback(xact_callback, NULL);
}
