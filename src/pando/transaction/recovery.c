/*
 * recovery.c: settling prepared transactions whose initiator did not live to do it.
 *
 * Only transactions that this node began, in this cluster and database, are looked at;
 * their names tell (two_phase.c). Per node, in this order, which is what makes it right:
 *
 * 1. read the records for the node: R;
 * 2. list what is prepared on the node: L;
 * 3. for each of L whose backend no longer runs it, look for its record once more: there,
 *    COMMIT PREPARED; not there, ROLLBACK PREPARED, since it can't appear any more;
 * 4. delete the records that are in R and not in L: PREPARE came before the record, so
 *    what is not prepared any more has been committed.
 *
 * A node that can't be reached is named in a WARNING and left for the next time. The lock
 * on pg_dist_transaction lets one recovery run at a time and disturbs nobody else.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pando/base/debug_point.h"
#include "pando/catalog/catalog.h"
#include "pando/catalog/transaction.h"
#include "pando/transaction/member.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"

/* One node under recovery. */
typedef struct Recovery
{
	const DistNode *node;
	Session *session;
	List *records; /* TransactionRow *: R */
} Recovery;

/* Was the record written? Looks at what is committed now. */
static bool
has_record(int32 group, const char *gid)
{
	bool found = false;

	foreach_ptr (TransactionRow, row, catalog_transaction_by_group(group))
	{
		if (strcmp(row->gid, gid) == 0)
			found = true;
	}
	return found;
}

/* "<prefix><pid>_<number>_<session>": does its backend still run it? */
static bool
is_running(const char *gid, const char *prefix)
{
	int pid;
	unsigned long long number;

	if (sscanf(gid + strlen(prefix), "%d_%llu_", &pid, &number) != 2)
		return true; /* not a name that we made */
	return identity_is_running(pid, (uint64) number);
}

/* Commits or rolls back one; true when it is settled. */
static bool
settle_prepared(Session *session, const char *gid, bool commit)
{
	PGresult *result;
	bool ok;

	DEBUG_POINT("recovery-before-settle");
	session_send_simple(session,
						psprintf("%s PREPARED %s", commit ? "COMMIT" : "ROLLBACK",
								 quote_literal_cstr(gid)));
	result = run_outcome(session, WARNING);
	DEBUG_POINT("recovery-after-settle");
	if (result == NULL)
		return false;
	ok = PQresultStatus(result) == PGRES_COMMAND_OK;
	if (!ok)
	{
		const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

		/* Its own backend was faster. */
		if (sqlstate == NULL || strcmp(sqlstate, "42704") != 0)
			session_raise(session, result, WARNING);
	}
	session_result_free(result);
	return ok;
}

static bool
is_listed(PGresult *list, const char *gid)
{
	for (int i = 0; i < PQntuples(list); i++)
		if (strcmp(PQgetvalue(list, i, 0), gid) == 0)
			return true;
	return false;
}

static int
recover_node(Recovery *recovery, const char *prefix)
{
	PGresult *list = run_outcome(recovery->session, WARNING);
	int settled = 0;

	if (list == NULL)
		return 0;
	if (PQresultStatus(list) != PGRES_TUPLES_OK)
	{
		session_raise(recovery->session, list, WARNING);
		session_result_free(list);
		return 0;
	}
	DEBUG_POINT("recovery-after-list");
	for (int i = 0; i < PQntuples(list); i++)
	{
		const char *gid = PQgetvalue(list, i, 0);
		bool commit;

		if (is_running(gid, prefix))
			continue;
		commit = has_record(recovery->node->group, gid);
		if (!settle_prepared(recovery->session, gid, commit))
		{
			if (recovery->session->state != SESSION_IDLE)
				break;
			continue;
		}
		if (commit)
			(void) catalog_transaction_delete(recovery->node->group, gid);
		settled++;
	}
	DEBUG_POINT("recovery-before-forget");
	foreach_ptr (TransactionRow, row, recovery->records)
	{
		if (strncmp(row->gid, prefix, strlen(prefix)) == 0 && !is_listed(list, row->gid))
			(void) catalog_transaction_delete(recovery->node->group, row->gid);
	}
	session_result_free(list);
	return settled;
}

int
xact_recover(void)
{
	char *prefix = two_phase_prefix();
	List *recoveries = NIL;
	int settled = 0;

	LockRelationOid(catalog_oid("pg_dist_transaction"), ShareUpdateExclusiveLock);
	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
	{
		Recovery *recovery = palloc0(sizeof(Recovery));

		recovery->node = node;
		recovery->records = catalog_transaction_by_group(node->group);
		recovery->session = run_claim_plain(node);
		recoveries = lappend(recoveries, recovery);
		if (recovery->session->state != SESSION_DEAD)
			session_send_simple(
				recovery->session,
				psprintf("SELECT gid FROM pg_catalog.pg_prepared_xacts "
						 "WHERE database = current_database() AND starts_with(gid, %s)",
						 quote_literal_cstr(prefix)));
	}
	foreach_ptr (Recovery, recovery, recoveries)
	{
		settled += recover_node(recovery, prefix);
		session_release(recovery->session);
	}
	list_free_deep(recoveries);
	return settled;
}

/* A node with committed work of before a crash that it was not told of; NULL: none. */
static const DistNode *
node_in_doubt(const char *prefix)
{
	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
	{
		foreach_ptr (TransactionRow, row, catalog_transaction_by_group(node->group))
		{
			int pid;
			unsigned long long number;

			if (strncmp(row->gid, prefix, strlen(prefix)) == 0 &&
				sscanf(row->gid + strlen(prefix), "%d_%llu_", &pid, &number) == 2 &&
				identity_is_of_past(number))
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
	settled = true;
}

PG_FUNCTION_INFO_V1(recover_prepared_transactions);

Datum
recover_prepared_transactions(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(xact_recover());
}
