/*
 * recovery.c: settling prepared transactions whose initiator did not live to do it.
 *
 * Only transactions that this node began, in this cluster and database, are looked at;
 * their names tell (two_phase.c). Per node, in this order, which is what makes it right:
 *
 * 1. read the records for the node: R;
 * 2. list what is prepared on the node: L;
 * 3. for each of L whose backend no longer runs it, look for its record once more: there,
 *    COMMIT PREPARED; not there, ROLLBACK PREPARED, since it can't appear any more. One
 *    that is there, of a transaction that is not over, is what a client has prepared
 *    himself (client_prepare.c), and left alone;
 * 4. delete the records that are in R and not in L, or were committed in step 3: PREPARE
 *    came before the record, so what is not prepared any more has been committed.
 *
 * Records that can't be of use any more, for nodes that were removed or of another
 * cluster that this server was in, are deleted, too.
 *
 * A node that can't be reached is named in a WARNING and left for the next time. One
 * recovery runs at a time.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "pando/base/debug_point.h"
#include "pando/catalog/node.h"
#include "pando/catalog/transaction.h"
#include "pando/transaction/member.h"
#include "storage/lock.h"
#include "utils/builtins.h"

#define RECOVERY_LOCK                                                                    \
	21 /* a class of advisory locks that users' functions don't make                     \
		*/

static int unreached = 0; /* nodes that the last recovery did not reach */
static List *done = NIL;  /* TransactionRow *: step 4 */

/* One node under recovery. */
typedef struct Recovery
{
	const DistNode *node;
	Session *session;
	List *records;	/* TransactionRow *: R of all nodes */
	PGresult *list; /* L, once it is here */
} Recovery;

/* What a name says: "<prefix><pid>_<number>_<session>". */
typedef struct GidParts
{
	int pid;
	uint64 number;
	int session;
} GidParts;

/* False: not a name that we made. */
static bool
parse_gid(const char *gid, const char *prefix, GidParts *parts)
{
	unsigned long long number;

	if (strncmp(gid, prefix, strlen(prefix)) != 0 ||
		sscanf(gid + strlen(prefix), "%d_%llu_%d", &parts->pid, &number,
			   &parts->session) != 3)
		return false;
	parts->number = number;
	return true;
}

/*
 * Is nothing decided yet? Its backend runs it, or a client has prepared it: that writes
 * the record before the backend is done with it, hence the order.
 */
static bool
is_undecided(const char *gid, const GidParts *parts)
{
	return identity_is_running(parts->pid, parts->number) ||
		   (prepared_is_for_client(gid) && catalog_transaction_is_undecided(gid));
}

static bool
is_to_wait(const char *gid, const char *prefix)
{
	GidParts parts;

	return !parse_gid(gid, prefix, &parts) || is_undecided(gid, &parts);
}

/* It is not prepared on its node any more: tells the backend that waits for it. */
static void
tell_settled(const char *gid, const char *prefix)
{
	GidParts parts;

	if (parse_gid(gid, prefix, &parts))
		identity_settled(parts.pid, parts.number, parts.session);
}

void
prepared_send_end(Session *session, const char *gid, bool commit)
{
	session_send_simple(session,
						psprintf("%s PREPARED %s", commit ? "COMMIT" : "ROLLBACK",
								 quote_literal_cstr(gid)));
}

bool
prepared_has_ended(Session *session)
{
	PGresult *result = run_outcome(session, WARNING);
	bool ok;

	if (result == NULL)
		return false;
	ok = PQresultStatus(result) == PGRES_COMMAND_OK;
	if (!ok)
	{
		/* Its own backend, or the node itself, was faster. */
		if (session_error_is(result, ERRCODE_UNDEFINED_OBJECT))
			ok = true;
		else
			session_raise(session, result, WARNING);
	}
	session_result_free(result);
	return ok;
}

/* Commits or rolls back one; true when it is not prepared any more. */
static bool
settle_prepared(Session *session, const char *gid, bool commit)
{
	bool ok;

	DEBUG_POINT("recovery-before-settle");
	prepared_send_end(session, gid, commit);
	ok = prepared_has_ended(session);
	DEBUG_POINT("recovery-after-settle");
	return ok;
}

/* A record of this node's in this cluster? */
static bool
is_ours(const TransactionRow *row, const char *prefix)
{
	return strncmp(row->gid, prefix, strlen(prefix)) == 0;
}

static bool
is_listed(PGresult *list, const char *gid)
{
	for (int i = 0; i < PQntuples(list); i++)
		if (strcmp(session_value(list, i, 0), gid) == 0)
			return true;
	return false;
}

static bool
is_among(List *gids, const char *gid)
{
	foreach_ptr (char, one, gids)
		if (strcmp(one, gid) == 0)
			return true;
	return false;
}

/* Step 3 for one node. What may be forgotten is noted. */
static int
recover_node(Recovery *recovery, const char *prefix)
{
	PGresult *list = recovery->list;
	int32 group = recovery->node->group;
	List *committed = NIL; /* char * */
	int settled = 0;

	DEBUG_POINT("recovery-after-list");
	gate_enter(true);
	for (int i = 0; i < PQntuples(list); i++)
	{
		const char *gid = session_value(list, i, 0);
		bool commit;

		if (is_to_wait(gid, prefix))
			continue;
		commit = catalog_transaction_exists(group, gid);
		if (!settle_prepared(recovery->session, gid, commit))
		{
			if (recovery->session->state != SESSION_IDLE)
				break;
			continue;
		}
		if (commit)
			committed = lappend(committed, unconstify(char *, gid));
		settled++;
	}
	gate_leave();
	foreach_ptr (TransactionRow, row, recovery->records)
	{
		if (row->groupid != group || !is_ours(row, prefix) ||
			(is_listed(list, row->gid) && !is_among(committed, row->gid)))
			continue;
		tell_settled(row->gid, prefix);
		done = lappend(done, row);
	}
	return settled;
}

/* Step 2: asks the node what is prepared there. */
static Recovery *
recovery_start(const DistNode *node, List *records, const char *prefix)
{
	Recovery *recovery = palloc0(sizeof(Recovery));

	recovery->node = node;
	recovery->records = records;
	recovery->session = run_claim_plain(node);
	if (recovery->session->state != SESSION_DEAD)
		session_send_simple(recovery->session,
							psprintf("SELECT gid FROM pg_catalog.pg_prepared_xacts "
									 "WHERE database = pg_catalog.current_database() AND "
									 "pg_catalog.starts_with(gid, %s)",
									 quote_literal_cstr(prefix)));
	return recovery;
}

/* Takes what has come; true when the node's answer, or its loss, is there. */
static bool
recovery_answered(Recovery *recovery)
{
	Session *session = recovery->session;
	PGresult *result;

	while ((result = session_result(session)) != NULL)
	{
		if (PQresultStatus(result) == PGRES_TUPLES_OK && recovery->list == NULL)
			recovery->list = result;
		else
		{
			session_raise(session, result, WARNING);
			session_result_free(result);
		}
	}
	return session->state == SESSION_IDLE || session->state == SESSION_DEAD;
}

/* Goes through the nodes as they answer: one that hangs delays no other. */
static int
recover_all(List *recoveries, const char *prefix)
{
	int settled = 0;

	while (recoveries != NIL)
	{
		List *waiting = NIL;
		List *sessions = NIL;

		foreach_ptr (Recovery, recovery, recoveries)
		{
			if (!recovery_answered(recovery))
			{
				waiting = lappend(waiting, recovery);
				sessions = lappend(sessions, recovery->session);
				continue;
			}
			if (recovery->list != NULL)
				settled += recover_node(recovery, prefix);
			else
			{
				unreached++;
				if (recovery->session->state == SESSION_DEAD)
					session_raise_lost(recovery->session, WARNING);
			}
			session_release(recovery->session);
		}
		recoveries = waiting;
		if (sessions != NIL)
			(void) session_wait_any(sessions, -1);
	}
	return settled;
}

/* Records that no node will ever be asked about. */
static List *
records_of_nobody(List *records, const char *prefix)
{
	List *useless = NIL;
	Bitmapset *groups = NULL;

	foreach_ptr (NodeRow, node, catalog_node_all())
		groups = bms_add_member(groups, node->groupid);
	foreach_ptr (TransactionRow, row, records)
	{
		if (!is_ours(row, prefix) || !bms_is_member(row->groupid, groups))
			useless = lappend(useless, row);
	}
	return useless;
}

/* One recovery at a time. Not a lock of the table, which vacuum needs. */
static LOCKTAG
lock_recovery(void)
{
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, 0, RECOVERY_LOCK);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	return tag;
}

/*
 * Step 4. A restore point must not come between COMMIT PREPARED on a node and this here,
 * so the deletion is committed inside the gate; and not in a client's transaction, which
 * may last.
 */
static void
forget_done(void)
{
	if (done == NIL)
		return;
	DEBUG_POINT("recovery-before-forget");
	gate_enter(true);
	catalog_transaction_delete_all(done);
}

int
xact_recover(void)
{
	char *prefix = two_phase_prefix();
	List *recoveries = NIL;
	List *records;
	int settled;

	(void) lock_recovery();
	unreached = 0;
	records = catalog_transaction_all();
	done = records_of_nobody(records, prefix);
	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
		recoveries = lappend(recoveries, recovery_start(node, records, prefix));
	settled = recover_all(recoveries, prefix);
	if (!IsTransactionBlock())
		forget_done();
	return settled;
}

/* The node is in no catalog until it has joined, so nobody has looked at it since. */
void
xact_recover_joining(const DistNode *node)
{
	char *prefix = two_phase_prefix();
	LOCKTAG tag = lock_recovery();

	(void) recover_all(list_make1(recovery_start(node, NIL, prefix)), prefix);
	/* Joining may take long. */
	LockRelease(&tag, ExclusiveLock, false);
}

int
recovery_unreached(void)
{
	return unreached;
}

/* Has the recovery just made seen to it? In a transaction block it deletes nothing. */
static bool
is_done(const TransactionRow *row)
{
	foreach_ptr (TransactionRow, one, done)
		if (one->groupid == row->groupid && strcmp(one->gid, row->gid) == 0)
			return true;
	return false;
}

/* A node with committed work of before a crash that it was not told of; NULL: none. */
static const DistNode *
node_in_doubt(const char *prefix)
{
	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
	{
		foreach_ptr (TransactionRow, row, catalog_transaction_by_group(node->group))
		{
			GidParts parts;

			if (parse_gid(row->gid, prefix, &parts) &&
				identity_is_of_past(parts.number) && !is_done(row))
				return node;
		}
	}
	return NULL;
}

void
xact_settle_past(void)
{
	static bool settled = false; /* once so, always so: a crash starts new backends */
	char *prefix;
	const DistNode *node;

	if (settled)
		return;
	prefix = two_phase_prefix();
	done = NIL;
	if (node_in_doubt(prefix) != NULL)
	{
		(void) xact_recover();
		CommandCounterIncrement();
	}
	node = node_in_doubt(prefix);
	if (node != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node %s:%d has transactions of before a crash that are not "
						"settled yet",
						node->host, node->port),
				 errhint("They will be when the node can be reached; SELECT "
						 "recover_prepared_transactions() does it at once.")));
	done = NIL;
	settled = true;
}

PG_FUNCTION_INFO_V1(recover_prepared_transactions);

Datum
recover_prepared_transactions(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(xact_recover());
}

PG_FUNCTION_INFO_V1(transaction_outcome);

/*
 * pando.transaction_outcome(gid): 'running' (or prepared by a client), 'committed' or
 * 'aborted' for a transaction that this node began; NULL for one that it knows nothing
 * of. What is neither running nor recorded can't be recorded any more.
 */
Datum
transaction_outcome(PG_FUNCTION_ARGS)
{
	char *gid = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char *prefix = two_phase_prefix();
	GidParts parts;

	if (!parse_gid(gid, prefix, &parts))
		PG_RETURN_NULL();
	if (is_undecided(gid, &parts))
		PG_RETURN_TEXT_P(cstring_to_text("running"));
	PG_RETURN_TEXT_P(
		cstring_to_text(catalog_transaction_is_recorded(gid) ? "committed" : "aborted"));
}
