/*
 * nesting.c: is the running statement the client's own, or one that a function runs?
 *
 * Only a statement that nothing surrounds may be its own transaction on a node. The
 * depth counts executor phases and those utility statements that run other statements on
 * somebody else's behalf (CALL, DO, DDL with its checks, COPY FROM with its triggers);
 * EXPLAIN, EXECUTE, cursors and the like only carry the client's statement.
 *
 * In the extended protocol a client may put several statements before one Sync; they are
 * one transaction then. The first of them can't know, except by looking: it is alone if
 * the next message, already received, is the Sync.
 */
#include "pando/compat/compat.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "executor/executor.h"
#include "libpq/libpq.h"
#include "nodes/parsenodes.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/fmgrprotos.h"
#include "utils/snapmgr.h"

#include "pando/base/hook.h"
#include "pando/transaction/member.h"

static int depth = 0;
static bool top_reads_only = false;
static NestingFrame *running = NULL;
/* While CREATE TABLE AS or REFRESH carries the client's query: its text. What event
 * triggers run then has another. */
static const char *carried_text = NULL;
static int opaque_depth = 0; /* of utility statements that do things by themselves */
static ExecutorRun_hook_type next_run = NULL;
static ExecutorFinish_hook_type next_finish = NULL;

static void
nesting_start(QueryDesc *query, int eflags)
{
	NestingFrame frame = {.query = query, .outer = running};
	bool push = false;

	if (depth == 0)
		top_reads_only = query->operation == CMD_SELECT &&
						 !query->plannedstmt->hasModifyingCTE &&
						 query->plannedstmt->rowMarks == NIL;
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && !IsParallelWorker())
	{
		bool renewable = renew_is_possible(query);
		Snapshot came_with = query->snapshot;

		secondary_check_query(query);
		doubt_check_query(query, renewable);
		cluster_snapshot_before(query, renewable);
		copied_trigger_check(query, running);
		if (depth == 0)
			statement_snapshot_take(query, query->snapshot != came_with);
		push = query->snapshot != came_with;
	}
	if (push)
		PushActiveSnapshot(query->snapshot);
	depth++;
	running = &frame;
	PG_TRY();
	{
		hook_start_next(START_NESTING, query, eflags);
	}
	PG_CATCH();
	{
		running = frame.outer;
		depth--;
		identity_rethrow();
	}
	PG_END_TRY();
	running = frame.outer;
	depth--;
	if (push)
		PopActiveSnapshot();
}

static void
nesting_run(QueryDesc *query, ScanDirection direction, uint64 count, bool once)
{
	NestingFrame frame = {.query = query, .outer = running};
	Snapshot snapshot = query->estate->es_snapshot;
	/* Whoever gave the query an older one has made that the active one. */
	bool push = !ActiveSnapshotSet() || GetActiveSnapshot() != snapshot;

	if (push)
		PushActiveSnapshot(snapshot);
	depth++;
	running = &frame;
	PG_TRY();
	{
		if (next_run)
			next_run(query, direction, count, once);
		else
			standard_ExecutorRun(query, direction, count, once);
	}
	PG_CATCH();
	{
		running = frame.outer;
		depth--;
		identity_rethrow();
	}
	PG_END_TRY();
	running = frame.outer;
	depth--;
	if (push)
		PopActiveSnapshot();
}

static void
nesting_finish(QueryDesc *query)
{
	NestingFrame frame = {.query = query, .outer = running};

	depth++;
	running = &frame;
	PG_TRY();
	{
		if (next_finish)
			next_finish(query);
		else
			standard_ExecutorFinish(query);
	}
	PG_CATCH();
	{
		running = frame.outer;
		depth--;
		identity_rethrow();
	}
	PG_END_TRY();
	running = frame.outer;
	depth--;
}

/* The execution itself, or the outermost one of those that run with its snapshot. */
EState *
nesting_outermost(EState *estate)
{
	EState *found = estate;

	for (NestingFrame *frame = running; frame != NULL; frame = frame->outer)
	{
		if (frame->query != NULL && frame->query->snapshot == estate->es_snapshot &&
			frame->query->estate != NULL)
			found = frame->query->estate;
	}
	return found;
}

bool
xact_shares_snapshot(EState *estate)
{
	return nesting_outermost(estate) != estate;
}

/* Does the utility statement only carry the client's statement? */
static bool
is_transparent(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_ExplainStmt:
		case T_ExecuteStmt:
		case T_PrepareStmt:
		case T_DeclareCursorStmt:
		case T_FetchStmt:
		case T_CreateTableAsStmt:
		case T_RefreshMatViewStmt:
		case T_TransactionStmt:
			return true;
		case T_CopyStmt:
			return !((CopyStmt *) statement)->is_from;
		default:
			return false;
	}
}

/* COPY of a relation, without a query, when a transaction in doubt there was settled just
 * now: it needs a newer snapshot. */
static bool
reads_past_doubt(Node *statement)
{
	CopyStmt *copy = (CopyStmt *) statement;
	Oid relid;

	if (!IsA(statement, CopyStmt) || copy->is_from || copy->relation == NULL)
		return false;
	relid = RangeVarGetRelid(copy->relation, AccessShareLock, true);
	return OidIsValid(relid) && doubt_check_relation(relid);
}

/* Does the statement, which carries a query, fire event triggers as well? */
static bool
fires_event_triggers(Node *statement)
{
	return IsA(statement, CreateTableAsStmt) || IsA(statement, RefreshMatViewStmt);
}

static void
run_transparent(PlannedStmt *pstmt, const char *text, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	const char *outer = carried_text;

	if (!fires_event_triggers(pstmt->utilityStmt))
	{
		hook_utility_next(UTILITY_NESTING, pstmt, text, read_only_tree, context, params,
						  environment, dest, qc);
		return;
	}
	carried_text = text;
	PG_TRY();
	{
		hook_utility_next(UTILITY_NESTING, pstmt, text, read_only_tree, context, params,
						  environment, dest, qc);
	}
	PG_FINALLY();
	{
		carried_text = outer;
	}
	PG_END_TRY();
}

static void
nesting_utility(PlannedStmt *pstmt, const char *text, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	int opaque;

	/*
	 * No PG_TRY where nothing is counted: COMMIT in a procedure must not be in the frame
	 * of a transaction statement.
	 */
	if (is_transparent(pstmt->utilityStmt))
	{
		TransactionStmt *statement = IsA(pstmt->utilityStmt, TransactionStmt)
										 ? (TransactionStmt *) pstmt->utilityStmt
										 : NULL;

		List *records = NIL;

		if (statement != NULL)
		{
			prepared_before(statement);
			savepoint_before(statement);
			records = client_prepare_before(statement);
		}
		if (reads_past_doubt(pstmt->utilityStmt))
		{
			PushActiveSnapshot(GetTransactionSnapshot());
			hook_utility_next(UTILITY_NESTING, pstmt, text, read_only_tree, context,
							  params, environment, dest, qc);
			PopActiveSnapshot();
		}
		else
			run_transparent(pstmt, text, read_only_tree, context, params, environment,
							dest, qc);
		if (statement != NULL)
		{
			prepared_after(statement);
			client_prepare_after(statement, records);
		}
		return;
	}
	opaque = !IsA(pstmt->utilityStmt, CallStmt) && !IsA(pstmt->utilityStmt, DoStmt);
	depth++;
	opaque_depth += opaque;
	PG_TRY();
	{
		hook_utility_next(UTILITY_NESTING, pstmt, text, read_only_tree, context, params,
						  environment, dest, qc);
	}
	PG_CATCH();
	{
		depth--;
		opaque_depth -= opaque;
		identity_rethrow();
	}
	PG_END_TRY();
	depth--;
	opaque_depth -= opaque;
}

uint64
xact_copy_from(const CopyStmt *stmt, const char *text,
			   uint64 (*run)(const CopyStmt *stmt, const char *text))
{
	NestingFrame frame = {.copied_into = stmt->relation, .outer = running};
	uint64 rows;

	running = &frame;
	PG_TRY();
	{
		rows = run(stmt, text);
	}
	PG_FINALLY();
	{
		running = frame.outer;
	}
	PG_END_TRY();
	return rows;
}

/* Extended protocol: is the next message anything but a Sync that is here already? */
static bool
more_may_follow(void)
{
	int next;

	if (whereToSendOutput != DestRemote || ActivePortal == NULL || !ActivePortal->visible)
		return false;
	if (!pq_buffer_has_data())
		return true;
	pq_startmsgread();
	next = pq_peekbyte();
	pq_endmsgread();
	return next != 'S';
}

static bool
trigger_runs(void)
{
	LOCAL_FCINFO(fcinfo, 0);

	InitFunctionCallInfoData(*fcinfo, NULL, 0, InvalidOid, NULL, NULL);
	return DatumGetInt32(pg_trigger_depth(fcinfo)) > 0;
}

int
nesting_depth(void)
{
	return depth;
}

/*
 * Relies on the core planning a client's statement from the very text that it is working
 * on, and what a utility statement carries while a portal runs.
 */
bool
xact_plans_for_client(const char *source)
{
	if (depth > 0)
		return false;
	if (carried_text != NULL)
		return source == carried_text;
	return source == debug_query_string || ActivePortal != NULL;
}

bool
nesting_is_top(void)
{
	/* Deferred triggers are fired when all statements are over. */
	return depth <= 1 && carried_text == NULL && !trigger_runs() && !more_may_follow();
}

/*
 * Do only functions, procedures and DO stand around the execution (NULL: a CALL)? Then no
 * statement that reads or changes tables is half done.
 */
bool
nesting_is_clear(const EState *own)
{
	if (opaque_depth > 0 || trigger_runs())
		return false;
	for (NestingFrame *frame = running; frame != NULL; frame = frame->outer)
	{
		if (frame->copied_into != NULL)
			return false;
		if (own != NULL && frame->query->estate == own)
			continue;
		foreach_ptr (RangeTblEntry, rte, frame->query->plannedstmt->rtable)
		{
			if (rte->rtekind == RTE_RELATION)
				return false;
		}
	}
	return true;
}

/* Is the client's statement one that does not write? */
bool
nesting_reads_only(void)
{
	return top_reads_only;
}

void
nesting_init(void)
{
	hook_start(START_NESTING, nesting_start);
	next_run = ExecutorRun_hook;
	ExecutorRun_hook = nesting_run;
	next_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = nesting_finish;
	hook_utility(UTILITY_NESTING, nesting_utility);
}
