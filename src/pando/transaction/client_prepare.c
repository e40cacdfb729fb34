/*
 * client_prepare.c: PREPARE TRANSACTION by the client, who commits later.
 *
 * What his transaction has written on other nodes is prepared there (two_phase.c), under
 * names that say so, and the records are part of the transaction that is prepared here.
 * So they are undecided as long as that one is, whatever becomes of the backend or the
 * server: recovery leaves alone what has an undecided record.
 *
 * COMMIT PREPARED or ROLLBACK PREPARED, from any session of the node, reads the records
 * of the transaction that it is about to end, lets the server end it, which is the
 * decision, and tells the nodes. What can't be told is recovery's.
 *
 * Nodes don't take such a transaction for one in doubt: it may stay prepared for long,
 * and nobody waits for it who would not wait for one that is prepared on a single server.
 * So a node that is away while it is committed shows it late, and nobody waits for that.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pando/base/debug_point.h"
#include "pando/catalog/transaction.h"
#include "pando/metadata/table.h"
#include "pando/transaction/maintenance.h"
#include "pando/transaction/member.h"
#include "utils/builtins.h"

/* Before the transaction is prepared; raises if a node can't. */
void
client_prepare(void)
{
	bool wrote = false;

	if (members == NIL)
		return;
	members_make_ready();
	foreach_ptr (Member, member, members)
	{
		/* Row locks stay until the end. */
		member->session->wrote |= member->locked;
		wrote |= member->session->wrote;
	}
	commit_plainly(wrote);
	if (wrote)
		two_phase_prepare(true);
}

static void
refuse_name(const char *gid)
{
	ereport(ERROR,
			(errcode(ERRCODE_RESERVED_NAME),
			 errmsg("transaction identifier \"%s\" is reserved", gid),
			 errdetail("Names that begin with \"%s\" are of transactions that nodes of a "
					   "cluster prepare.",
					   PREPARED_BY_NODE)));
}

List *
client_prepare_before(const TransactionStmt *statement)
{
	List *records = NIL;

	if (statement->gid == NULL || !metadata_active())
		return NIL;
	if (prepared_is_of_node(statement->gid))
	{
		if (statement->kind == TRANS_STMT_PREPARE && !identity_is_node_session())
			refuse_name(statement->gid);
		return NIL;
	}
	if (statement->kind != TRANS_STMT_COMMIT_PREPARED &&
		statement->kind != TRANS_STMT_ROLLBACK_PREPARED)
		return NIL;
	foreach_ptr (Prepared, prepared, prepared_here())
	{
		if (strcmp(prepared->gid, statement->gid) == 0)
			records = catalog_transaction_undecided(prepared->xid);
	}
	if (records != NIL)
		gate_enter(false);
	return records;
}

/*
 * A session to each node that is still in the cluster. The command has to be a message of
 * its own: what else the session is to be told comes before.
 */
static List *
claim_nodes(List *records)
{
	List *sessions = NIL;

	foreach_ptr (TransactionRow, row, records)
	{
		const DistNode *node = node_by_group(row->groupid);
		Session *session = node != NULL ? run_claim_plain(node) : NULL;

		if (session != NULL && session->state != SESSION_DEAD &&
			session->preamble.len > 0)
			session_send_simple(session, "SELECT");
		sessions = lappend(sessions, session);
	}
	foreach_ptr (Session, session, sessions)
	{
		if (session != NULL)
			session_result_free(run_outcome(session, DEBUG1));
	}
	return sessions;
}

void
client_prepare_after(const TransactionStmt *statement, List *records)
{
	bool commit = statement->kind == TRANS_STMT_COMMIT_PREPARED;
	List *sessions;
	ListCell *record;
	ListCell *cell;

	if (records == NIL)
		return;
	DEBUG_POINT("client-before-second-phase");
	sessions = claim_nodes(records);
	forboth(record, records, cell, sessions)
	{
		Session *session = lfirst(cell);

		if (session != NULL && session->state == SESSION_IDLE)
			prepared_send_end(session, ((TransactionRow *) lfirst(record))->gid, commit);
		DEBUG_POINT("client-during-second-phase");
	}
	foreach_ptr (Session, session, sessions)
	{
		if (session == NULL)
			continue;
		if (!prepared_has_ended(session))
			ereport(WARNING,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("transaction \"%s\" has not ended on the remote node "
							"%s:%d yet",
							statement->gid, session->address.host, session->address.port),
					 errdetail("That node will follow when it can be reached.")));
		session_release(session);
	}
	gate_leave();
	/* It deletes the records, and ends what has not ended here. */
	maintenance_want(WISH_RECOVERY);
}
