/*
 * cluster_snapshot.c: pando.snapshot = 'cluster', one snapshot over all nodes.
 *
 * With it a transaction in REPEATABLE READ, or a statement of its own in READ COMMITTED,
 * sees of each multi-node transaction all or nothing. Before its first query on
 * distributed tables: the gates of all nodes are closed (closing.c), so that no such
 * transaction is visible in part; then a transaction begins and takes its snapshot on
 * each node, and this backend's own snapshot is taken anew (renew.c); then the gates
 * open. What follows is as without it, since all sessions have their snapshots.
 *
 * It costs three round trips to all nodes, and commits over several nodes wait for the
 * first two.
 */
#include "pando/compat/compat.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pando/base/debug_point.h"
#include "pando/base/nap.h"
#include "pando/metadata/table.h"
#include "pando/transaction/member.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#define LEASE_MS 5000 /* of the first attempt; each later one has twice as long */
#define RETRY_MS 100
#define GIVE_UP_MS 30000

typedef enum SnapshotScope
{
	SNAPSHOT_NODE,
	SNAPSHOT_CLUSTER
} SnapshotScope;

static const struct config_enum_entry scopes[] = {{"node", SNAPSHOT_NODE, false},
												  {"cluster", SNAPSHOT_CLUSTER, false},
												  {NULL, 0, false}};
static int scope = SNAPSHOT_NODE;
static LocalTransactionId taken_by = InvalidLocalTransactionId;
static bool taking = false;

/* Begins on each node; false when something is in doubt somewhere. */
static bool
take_on_nodes(List *nodes)
{
	List *sessions = NIL;
	bool clear = !doubt_exists();

	foreach_ptr (const DistNode, node, nodes)
	{
		Session *session = member_acquire(node, false, true);

		session_send_simple(session, "SELECT pando.gate_check()");
		sessions = lappend(sessions, session);
	}
	foreach_ptr (Session, session, sessions)
	{
		PGresult *result = session_finish(session);

		if (result == NULL || PQntuples(result) != 1 ||
			strcmp(session_value(result, 0, 0), "t") != 0)
			clear = false;
		session_result_free(result);
	}
	list_free(sessions);
	return clear;
}

/* One attempt; false: another one is needed, and nothing was begun. */
static bool
take(QueryDesc *query, List *nodes, int lease_ms)
{
	bool good;

	closing_begin(nodes, lease_ms);
	good = take_on_nodes(nodes);
	renew_snapshot(query);
	DEBUG_POINT("cluster-snapshot-taken");
	good &= closing_end();
	if (!good)
		members_begin_anew();
	return good;
}

static void
take_in_time(QueryDesc *query)
{
	List *nodes = node_list(NODES_OTHER);
	TimestampTz start = GetCurrentTimestamp();

	members_begin_anew(); /* planning may have asked nodes */
	for (int lease_ms = LEASE_MS; !take(query, nodes, lease_ms); lease_ms *= 2)
	{
		if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(), GIVE_UP_MS))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("no snapshot of the cluster could be taken in time"),
					 errdetail("A node has a transaction in doubt, or answers slowly.")));
		nap(RETRY_MS);
	}
}

static bool
reads_distributed(const PlannedStmt *plan)
{
	foreach_ptr (RangeTblEntry, entry, plan->rtable)
	{
		if (entry->rtekind == RTE_RELATION && dist_table(entry->relid) != NULL)
			return true;
	}
	return false;
}

static void
check_possible(bool renewable)
{
	secondary_refuse_cluster_snapshot();
	if (IsolationIsSerializable())
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a SERIALIZABLE transaction cannot have a snapshot of the "
							   "cluster"),
						errhint("Use REPEATABLE READ.")));
	if (!IsolationUsesXactSnapshot() && members_are_surrounded())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a statement of a longer READ COMMITTED transaction cannot have "
						"a snapshot of the cluster"),
				 errhint("Use REPEATABLE READ.")));
	if (!renewable || members_have_worked())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("a snapshot of the cluster must be taken before any query"),
				 errhint("Set pando.snapshot before the transaction's first query.")));
}

/* Called before each query starts; renewable: it can get a newer snapshot. */
void
cluster_snapshot_before(QueryDesc *query, bool renewable)
{
	if (scope != SNAPSHOT_CLUSTER || taking || taken_by == compat_local_xid() ||
		!metadata_active() || identity_serves_node() ||
		!reads_distributed(query->plannedstmt))
		return;
	check_possible(renewable);
	taking = true;
	PG_TRY();
	{
		take_in_time(query);
	}
	PG_CATCH();
	{
		taking = false;
		closing_give_up();
		PG_RE_THROW();
	}
	PG_END_TRY();
	taking = false;
	taken_by = compat_local_xid();
}

void
cluster_snapshot_init(void)
{
	DefineCustomEnumVariable(
		"pando.snapshot",
		"Sets over what a transaction's snapshot is one: each node, or the cluster.",
		"With \"cluster\" a REPEATABLE READ transaction, or a READ COMMITTED statement "
		"of "
		"its own, sees all or nothing of each transaction over several nodes.",
		&scope, SNAPSHOT_NODE, scopes, PGC_USERSET, 0, NULL, NULL, NULL);
}
