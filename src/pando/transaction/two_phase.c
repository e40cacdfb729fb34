/*
 * two_phase.c: committing on several nodes at once.
 *
 * 1. PREPARE TRANSACTION on all nodes that wrote, in parallel.
 * 2. A row of pg_dist_transaction per prepared transaction, written in the local
 *    transaction: it is there exactly if that one commits. This is the decision.
 * 3. The local commit.
 * 4. COMMIT PREPARED on all nodes, in parallel. What fails here only delays: recovery
 *    (recovery.c) finds the row and commits. It also deletes rows that are no longer
 * needed.
 *
 * The name of a prepared transaction says who began it: cluster, group, pid, number of
 * the distributed transaction, number of the session, and whether a client is to commit
 * it (client_prepare.c).
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pando/base/debug_point.h"
#include "pando/catalog/transaction.h"
#include "pando/transaction/maintenance.h"
#include "pando/transaction/member.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define SECOND_PHASE_MS 30000
#define RECORDS_TO_CLEAN 1000 /* of one backend, until it asks for recovery */

/* "pando_<cluster>_<group>_": what names of this node's transactions begin with. */
char *
two_phase_prefix(void)
{
	return psprintf("pando_%.8s_%d_", node_server_id(), node_local_group());
}

static int
count_writers(void)
{
	int writers = 0;

	foreach_ptr (Member, member, members)
	{
		if (member->session->in_xact && member->session->wrote)
			writers++;
	}
	return writers;
}

/* Have several places written, of which this backend may be one? */
bool
two_phase_needed(void)
{
	int writers = count_writers();

	if (members_wrote_locally() || TransactionIdIsValid(GetTopTransactionIdIfAny()))
		writers++;
	return count_writers() > 0 && writers > 1;
}

/* The rows that say: these are to be committed. */
static void
write_records(void)
{
	uint64 xid = U64FromFullTransactionId(GetTopFullTransactionId());
	List *rows = NIL;

	foreach_ptr (Member, member, members)
	{
		TransactionRow *row;

		if (member->session->gid == NULL)
			continue;
		row = palloc(sizeof(TransactionRow));
		row->groupid = member->group;
		row->gid = member->session->gid;
		row->outer_xid = xid;
		rows = lappend(rows, row);
	}
	catalog_transaction_insert(rows);
}

/* Why PREPARE failed, with a hint where the server's own is for its operator only. */
static void
raise_prepare_error(Session *session, PGresult *error)
{
	session->gid = NULL;
	if (session_error_is(error, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE) &&
		strstr(PQresultErrorField(error, PG_DIAG_MESSAGE_PRIMARY), "disabled") != NULL)
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("prepared transactions are disabled on the remote node %s:%d",
					session->address.host, session->address.port),
			 errdetail("A transaction that writes on several nodes needs them."),
			 errhint("Set max_prepared_transactions to a nonzero value on all nodes.")));
	session_raise(session, error, ERROR);
}

/* First phase; raises if any node can't. Called at pre-commit, or when the client
 * prepares the transaction and nothing becomes visible yet. */
void
two_phase_prepare(bool for_client)
{
	char *prefix = two_phase_prefix();
	const char *mark = for_client ? PREPARED_FOR_CLIENT : "";
	uint64 number = identity_transaction_number();
	List *sessions = NIL;
	int count = 0;

	DEBUG_POINT("commit-before-prepare");
	foreach_ptr (Member, member, members)
	{
		Session *session = member->session;

		if (!session->in_xact || !session->wrote)
			continue;
		session->gid = MemoryContextStrdup(TopTransactionContext,
										   psprintf("%s%d_" UINT64_FORMAT "_%d%s", prefix,
													MyProcPid, number, ++count, mark));
		session_send_simple(session, psprintf("PREPARE TRANSACTION %s",
											  quote_literal_cstr(session->gid)));
		sessions = lappend(sessions, session);
		DEBUG_POINT("commit-during-prepare");
	}
	while (session_wait_any(sessions, -1) != NULL)
	{
		foreach_ptr (Session, session, sessions)
		{
			PGresult *result;

			while ((result = session_result(session)) != NULL)
			{
				if (PQresultStatus(result) == PGRES_FATAL_ERROR)
					raise_prepare_error(session, result);
				/* A failed transaction answers PREPARE with ROLLBACK. */
				if (strcmp(PQcmdStatus(result), "PREPARE TRANSACTION") != 0)
					ereport(ERROR,
							(errcode(ERRCODE_IN_FAILED_SQL_TRANSACTION),
							 errmsg("the transaction failed on the remote node %s:%d",
									session->address.host, session->address.port)));
				session_result_free(result);
			}
			if (session->state == SESSION_DEAD)
				session_raise_lost(session, ERROR);
		}
	}
	DEBUG_POINT("commit-after-prepare");
	PushActiveSnapshot(GetTransactionSnapshot());
	write_records();
	PopActiveSnapshot();
	DEBUG_POINT("commit-after-record");
	if (for_client)
		return;
	gate_enter(false);
	DEBUG_POINT("commit-inside-gate");
}

/*
 * What if some nodes did not say that they committed? Recovery does it over connections
 * of its own, now if they can be reached. If not, this backend returns when the nodes
 * themselves know to be in doubt, so that nobody reads past the transaction there.
 */
static void
leave_to_recovery(List *sessions)
{
	uint64 unsettled = 0;
	bool settled;

	foreach_ptr (Session, session, sessions)
	{
		if (session->gid != NULL)
			unsettled |= identity_session_bit(atoi(strrchr(session->gid, '_') + 1));
	}
	if (unsettled == 0)
		return;
	DEBUG_POINT_NO_ERROR("commit-before-settlement");
	settled = identity_await_settlement(unsettled, DOUBT_MS + DOUBT_SLACK_MS);
	if (!settled)
		gate_leave_unsettled();
	foreach_ptr (Session, session, sessions)
	{
		if (session->gid == NULL)
			continue;
		if (!settled)
			ereport(WARNING,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("could not commit prepared transaction \"%s\" on the "
							"remote node %s:%d yet",
							session->gid, session->address.host, session->address.port),
					 errdetail("The transaction is committed; that node will "
							   "follow when it can be reached.")));
	}
}

/* Records are deleted by recovery; under load they don't wait for its time to come. */
static void
count_records(int count)
{
	static int written = 0;

	written += count;
	if (written < RECORDS_TO_CLEAN)
		return;
	written = 0;
	maintenance_want(WISH_RECOVERY);
}

/* On the nodes that come first, or on the others; returns all sessions so far. */
static List *
commit_on(bool first, List *sessions)
{
	char sql[256];

	foreach_ptr (Member, member, members)
	{
		Session *session = member->session;

		if (session->gid == NULL || member->first != first)
			continue;
		if (session->state == SESSION_IDLE)
		{
			snprintf(sql, sizeof(sql), "COMMIT PREPARED '%s'", session->gid);
			session_send_simple(session, sql);
			DEBUG_POINT_NO_ERROR("commit-during-second-phase");
		}
		sessions = lappend(sessions, session);
	}
	return sessions;
}

/* Second phase, after the local commit: must not raise, and needs nothing that could. */
void
two_phase_commit(void)
{
	List *sessions = commit_on(true, NIL);

	if (sessions != NIL)
		(void) settle(sessions, SECOND_PHASE_MS, WARNING);
	sessions = commit_on(false, sessions);
	(void) settle(sessions, SECOND_PHASE_MS, WARNING);
	leave_to_recovery(sessions);
	count_records(list_length(sessions));
	list_free(sessions);
}
