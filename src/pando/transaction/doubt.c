/*
 * doubt.c: transactions of other nodes that stay prepared on this one.
 *
 * Between PREPARE TRANSACTION and COMMIT PREPARED lie milliseconds. A transaction that is
 * prepared for longer than DOUBT_MS is in doubt: its initiating node, or the way to it,
 * may be gone, and it may be committed already, with its client told so. Whoever then
 * reads what it wrote would read past a commit. So a statement on a relation on which a
 * transaction in doubt holds a lock for writing waits for it, as a writer of the same
 * rows would, and the maintenance worker asks the initiating node what became of it.
 *
 * The initiating node, for its part, does not return from a COMMIT that it could not
 * bring to all nodes before those must know to be in doubt (leave_to_recovery() in
 * two_phase.c).
 *
 * What it costs otherwise: two loads per statement, and now and then (LOOK_MS, one
 * backend of the server) a look at the slots of prepared transactions.
 */
#include "pando/compat/compat.h"

#include "access/transam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pando/compat/rights.h"
#include "pando/base/debug_point.h"
#include "pando/base/shared_memory.h"
#include "pando/metadata/table.h"
#include "pando/transaction/maintenance.h"
#include "pando/transaction/member.h"
#include "port/atomics.h"
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#define LOOK_MS 500
#define FRESH_MS 10000
#define BEGIN_WAIT_MS 1000
#define FIRST_RETRY_MS 200
#define LAST_RETRY_MS 5000
#define NEVER_MS (24 * 3600 * 1000)

typedef struct DoubtShared
{
	pg_atomic_uint64 next_look; /* TimestampTz */
	pg_atomic_uint32 looks;
	pg_atomic_uint32 any; /* is there a prepared transaction of a node that is old? */
} DoubtShared;

static DoubtShared *shared = NULL;

static void
doubt_attach(void *memory, LWLock *lock, bool fresh)
{
	shared = memory;
	if (fresh)
	{
		pg_atomic_init_u64(&shared->next_look, 0);
		pg_atomic_init_u32(&shared->looks, 0);
		pg_atomic_init_u32(&shared->any, 0);
	}
}

/* ------------------------------------------------------------------------------------
 * What is in doubt.
 */

/* Is anything prepared on this server? Says nothing of who did it. */
static bool
anything_prepared(void)
{
	for (int i = 0; i < max_prepared_xacts; i++)
	{
		if (TransactionIdIsValid(PreparedXactProcs[i].xid))
			return true;
	}
	return false;
}

/* List of Prepared * in the current context. */
static List *
read_doubts(void)
{
	List *doubts = NIL;

	foreach_ptr (Prepared, prepared, prepared_here())
	{
		if (prepared_is_of_node(prepared->gid) &&
			!prepared_is_for_client(prepared->gid) &&
			TimestampDifferenceExceeds(prepared->when, GetCurrentTimestamp(), DOUBT_MS))
			doubts = lappend(doubts, prepared);
	}
	return doubts;
}

/*
 * Looks, if it is time to. The answer is for all databases: what is prepared in another
 * one only costs its readers a look of their own.
 */
static bool
any_doubt(void)
{
	uint64 due = pg_atomic_read_u64(&shared->next_look);
	TimestampTz now = GetCurrentStatementStartTimestamp();

	if ((uint64) now >= due &&
		pg_atomic_compare_exchange_u64(&shared->next_look, &due, now + LOOK_MS * 1000L))
	{
		pg_atomic_write_u32(&shared->any, anything_prepared());
		(void) pg_atomic_add_fetch_u32(&shared->looks, 1);
	}
	return pg_atomic_read_u32(&shared->any) != 0;
}

/* What is in doubt in this database, as of the last look. */
static List *
current_doubts(void)
{
	static MemoryContext context = NULL;
	static List *doubts = NIL;
	static uint32 looks = 0;
	uint32 now = pg_atomic_read_u32(&shared->looks);
	MemoryContext old;

	if (context != NULL && looks == now)
		return doubts;
	if (context == NULL)
		context =
			AllocSetContextCreate(TopMemoryContext, "pando doubts", ALLOCSET_SMALL_SIZES);
	doubts = NIL;
	MemoryContextReset(context);
	old = MemoryContextSwitchTo(context);
	doubts = read_doubts();
	MemoryContextSwitchTo(old);
	looks = now;
	return doubts;
}

/* Is anything in doubt in this database right now? If so it will be settled soon. */
bool
doubt_exists(void)
{
	if (!anything_prepared() || read_doubts() == NIL)
		return false;
	maintenance_want(WISH_DOUBTS);
	return true;
}

/* ------------------------------------------------------------------------------------
 * Readers wait.
 */

/* Does the prepared transaction hold a lock on the relation that a reader of committed
 * rows has to mind? */
static bool
writes_relation(const Prepared *doubt, Oid relid)
{
	LOCKTAG tag;
	VirtualTransactionId *holders;
	VirtualTransactionId its = {0};
	int count;
	bool found = false;

	for (int i = 0; i < max_prepared_xacts; i++)
	{
		if (PreparedXactProcs[i].xid == doubt->xid)
			GET_VXID_FROM_PGPROC(its, PreparedXactProcs[i]);
	}
	if (!VirtualTransactionIdIsValid(its))
		return false;
	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	holders = GetLockConflicts(&tag, ShareLock, &count);
	for (int i = 0; i < count; i++)
		found |= VirtualTransactionIdEquals(holders[i], its);
	pfree(holders);
	return found;
}

/* Waits until the transactions in doubt that write the relation are settled. True when
 * one has committed, now or already, that the snapshot does not see. */
static bool
await_relation(Oid relid, Snapshot snapshot)
{
	bool missed = false;

	foreach_ptr (Prepared, doubt, current_doubts())
	{
		if (TransactionIdIsInProgress(doubt->xid) && writes_relation(doubt, relid))
		{
			maintenance_want(WISH_DOUBTS);
			XactLockTableWait(doubt->xid, NULL, NULL, XLTW_None);
		}
		missed |=
			XidInMVCCSnapshot(doubt->xid, snapshot) && TransactionIdDidCommit(doubt->xid);
	}
	return missed;
}

static void
raise_too_late(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to a transaction that was in doubt"),
			 errhint("The transaction might succeed if retried.")));
}

/*
 * Are rows read from it? A relation to which rows are only added minds nothing but
 * uniqueness, and there the server waits for what is undecided. A shell table has no
 * rows.
 */
static bool
is_read(const PlannedStmt *plan, const RangeTblEntry *entry, int rtindex)
{
	if (plan->commandType == CMD_INSERT &&
		list_member_int(plan->resultRelations, rtindex))
		return false;
	return entry->rtekind == RTE_RELATION &&
		   plan_rights(plan, entry)->requiredPerms != ACL_INSERT &&
		   !(metadata_active() && dist_table(entry->relid) != NULL);
}

/* Called before a query starts; renewable: it can get a newer snapshot. */
void
doubt_check_query(QueryDesc *query, bool renewable)
{
	bool missed = false;
	int rtindex = 0;

	if (!any_doubt() || RecoveryInProgress() || current_doubts() == NIL)
		return;
	foreach_ptr (RangeTblEntry, entry, query->plannedstmt->rtable)
	{
		if (is_read(query->plannedstmt, entry, ++rtindex))
			missed |= await_relation(entry->relid, query->snapshot);
	}
	if (missed && !renewable)
		raise_too_late();
	if (missed)
		renew_snapshot(query);
}

/* The same for a relation that is read without a query. True when there is newer to see
 * than the active snapshot does. */
bool
doubt_check_relation(Oid relid)
{
	bool missed;

	if (!any_doubt() || RecoveryInProgress())
		return false;
	missed = await_relation(relid, GetActiveSnapshot());
	if (missed && IsolationUsesXactSnapshot())
		raise_too_late();
	return missed;
}

/*
 * A transaction that will have one snapshot begins for another node: there is nothing
 * yet that could be read wrongly, but what turned up later would be too late. Waits a
 * little for what will soon be settled.
 */
void
doubt_before_begin(void)
{
	TimestampTz start = GetCurrentTimestamp();

	if (!any_doubt() || RecoveryInProgress())
		return;
	foreach_ptr (Prepared, doubt, current_doubts())
	{
		if (TimestampDifferenceExceeds(doubt->when, start, FRESH_MS))
			continue;
		maintenance_want(WISH_DOUBTS);
		while (TransactionIdIsInProgress(doubt->xid) &&
			   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), BEGIN_WAIT_MS))
		{
			CHECK_FOR_INTERRUPTS();
			pg_usleep(10000);
		}
	}
}

/* ------------------------------------------------------------------------------------
 * The maintenance worker asks and settles.
 */

/* What the initiating node says: a word, NULL when it can't be asked. */
static char *
ask_outcome(const char *gid)
{
	int group;
	char *word = NULL;

	if (sscanf(gid, "pando_%*8[^_]_%d_", &group) != 1)
		return NULL;
	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
	{
		PGresult *result;

		if (node->group != group)
			continue;
		result = linitial(run_quietly(
			list_make1((void *) node),
			psprintf("SELECT pando.transaction_outcome(%s)", quote_literal_cstr(gid)),
			DEBUG1));
		if (result != NULL && PQntuples(result) == 1 && !PQgetisnull(result, 0, 0))
			word = pstrdup(session_value(result, 0, 0));
		session_result_free(result);
	}
	return word;
}

static void
finish_prepared(const char *gid, bool commit)
{
	DEBUG_POINT("doubt-before-settle");
	StartTransactionCommand();
	gate_enter(true);
	FinishPreparedTransaction(gid, commit);
	CommitTransactionCommand();
	ereport(LOG, (errmsg("settled the prepared transaction \"%s\" that was in doubt: %s",
						 gid, commit ? "committed" : "rolled back")));
}

/* True when something stays in doubt. */
static bool
settle_doubts(void)
{
	MemoryContext context = CurrentMemoryContext;
	List *commit = NIL;
	List *rollback = NIL;
	bool remain = false;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	foreach_ptr (Prepared, doubt, read_doubts())
	{
		char *word = ask_outcome(doubt->gid);
		MemoryContext old = MemoryContextSwitchTo(context);

		if (word != NULL && strcmp(word, "committed") == 0)
			commit = lappend(commit, pstrdup(doubt->gid));
		else if (word != NULL && strcmp(word, "aborted") == 0)
			rollback = lappend(rollback, pstrdup(doubt->gid));
		else
			remain = true;
		MemoryContextSwitchTo(old);
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);

	foreach_ptr (char, gid, commit)
		finish_prepared(gid, true);
	foreach_ptr (char, gid, rollback)
		finish_prepared(gid, false);
	return remain;
}

static int retry_interval = NEVER_MS;

/* Off together with recovery: a server that was restored must not ask its old cluster. */
static int
doubts_interval(void)
{
	return maintenance_recovers() ? retry_interval : -1;
}

static void
doubts_run(void)
{
	int before = retry_interval;

	/* Somebody else may settle one at the same time: that error is logged and all the
	 * rest tried again. */
	retry_interval = FIRST_RETRY_MS;
	if (!settle_doubts())
		retry_interval = NEVER_MS;
	else if (before != NEVER_MS)
		retry_interval = Min(before * 2, LAST_RETRY_MS);
}

void
doubt_init(void)
{
	static const MaintenanceJob job = {
		.name = "settling transactions in doubt",
		.interval = doubts_interval,
		.run = doubts_run,
		.own_transactions = true,
		.wish = WISH_DOUBTS,
	};
	static const SharedMemory memory = {"pando_doubt", sizeof(DoubtShared), 0,
										doubt_attach};

	shared_memory_register(&memory);
	maintenance_register(&job);
}
