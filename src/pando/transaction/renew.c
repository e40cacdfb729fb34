/*
 * renew.c: giving a statement a newer snapshot than it came with.
 *
 * A snapshot is taken before any code of ours runs for a statement. Where it turns out to
 * be too old before the statement has read anything, it is replaced: in READ COMMITTED by
 * another one, as the next statement would have got; in REPEATABLE READ, at the
 * transaction's first query, by changing the transaction's snapshot in place. In place
 * means what ends it: the transactions that it sees as running. Its xmin stays, which is
 * right, if pessimistic, and keeps the order of the registered snapshots.
 *
 * SERIALIZABLE transactions have registered their snapshot with what they conflict with,
 * so theirs stays.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "pando/base/sql.h"
#include "pando/transaction/member.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

static LocalTransactionId queried = InvalidLocalTransactionId;

/* Has this transaction run a query before the present one? Called once per query. */
static bool
first_query(void)
{
	bool first = queried != compat_local_xid();

	queried = compat_local_xid();
	return first;
}

static TransactionId *
copy_xids(const TransactionId *xids, int count)
{
	TransactionId *copy;

	if (count == 0)
		return NULL;
	copy = MemoryContextAlloc(TopTransactionContext, sizeof(TransactionId) * count);
	memcpy(copy, xids, sizeof(TransactionId) * count);
	return copy;
}

static void
renew_in_place(Snapshot old, Snapshot newer)
{
	if (old == newer)
		return;
	old->xmax = newer->xmax;
	old->xcnt = newer->xcnt;
	old->xip = copy_xids(newer->xip, newer->xcnt);
	old->subxcnt = newer->subxcnt;
	old->subxip = copy_xids(newer->subxip, newer->subxcnt);
	old->suboverflowed = newer->suboverflowed;
	old->takenDuringRecovery = newer->takenDuringRecovery;
	old->whenTaken = newer->whenTaken;
	old->lsn = newer->lsn;
}

/* The transaction's own snapshot and the copies that the query has of it. */
static void
renew_transaction_snapshot(QueryDesc *query)
{
	Snapshot own = GetTransactionSnapshot();
	Snapshot active = ActiveSnapshotSet() ? GetActiveSnapshot() : own;
	Snapshot newer = GetLatestSnapshot();

	renew_in_place(own, newer);
	if (active != own)
		renew_in_place(active, newer);
	if (query->snapshot != own && query->snapshot != active)
		renew_in_place(query->snapshot, newer);
}

static void
renew_query_snapshot(QueryDesc *query)
{
	Snapshot newer = RegisterSnapshot(GetTransactionSnapshot());

	newer->curcid = query->snapshot->curcid;
	UnregisterSnapshot(query->snapshot);
	query->snapshot = newer;
}

/*
 * The value of a query of the extension's own that reads no user's rows, as planning
 * does: it is not the transaction's first query.
 */
char *
renew_value_aside(const char *sql)
{
	LocalTransactionId before = queried;
	char *value = sql_value("%s", sql);

	queried = before;
	return value;
}

/* May the snapshot still be renewed? Asked once for each query before it starts. */
bool
renew_is_possible(const QueryDesc *query)
{
	bool first = first_query();

	if (query->snapshot == NULL || query->snapshot->snapshot_type != SNAPSHOT_MVCC)
		return false;
	return !IsolationUsesXactSnapshot() || (first && !IsolationIsSerializable());
}

/* Gives the query, which has not started, a snapshot of now. */
void
renew_snapshot(QueryDesc *query)
{
	if (IsolationUsesXactSnapshot())
		renew_transaction_snapshot(query);
	else
		renew_query_snapshot(query);
}
