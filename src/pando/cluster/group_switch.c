/*
 * group_switch.c: when the online copies of a transaction are switched to.
 *
 * A move that shares its transaction with others fills its copy and lets the switch wait
 * (what locks everybody out until the transaction's end), so that the others can be
 * online as well. All wait until the transaction does something else than to move shards,
 * or ends; then changes are brought to all copies, writers and readers are locked out,
 * and all is switched, at once.
 *
 * Until then statements would find the shards where they were, so nothing else may happen
 * before the switch: planning, starting or running a statement switches first, unless it
 * calls a move, or is one that only carries others, which are looked at themselves, or is
 * about the transaction. What the transaction has written to a table that moves would not
 * be in the copies; it can't have (group_copy_obstacle()), and if it has it is an error.
 *
 * A subtransaction that is rolled back takes with it the copies that were made in it; one
 * in which copies were switched to makes them wait again: their sessions go on until the
 * end of the transaction.
 */
#include "pando/compat/compat.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_namespace.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pando/base/debug_point.h"
#include "pando/base/hook.h"
#include "pando/base/name.h"
#include "pando/cluster/group_switch.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/online_move.h"

typedef struct Waiting
{
	OnlineCopy online;
	GroupSwitchStep step;
	int kind;
	Oid user; /* who moves */
	int security;
	SubTransactionId made;	   /* in which subtransaction */
	SubTransactionId switched; /* InvalidSubTransactionId: it waits */
} Waiting;

static List *all = NIL; /* Waiting *, in the transaction's memory */
static int busy = 0;

void
group_switch_add(const GroupCopy *copy, OnlineMove *move, GroupSwitchStep step, int kind)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	Waiting *waiting = palloc0(sizeof(Waiting));

	waiting->online.copy = copy;
	waiting->online.move = move;
	waiting->step = step;
	waiting->kind = kind;
	GetUserIdAndSecContext(&waiting->user, &waiting->security);
	waiting->made = GetCurrentSubTransactionId();
	waiting->switched = InvalidSubTransactionId;
	all = lappend(all, waiting);
	MemoryContextSwitchTo(old);
}

bool
group_switch_any(void)
{
	foreach_ptr (Waiting, waiting, all)
	{
		if (waiting->switched == InvalidSubTransactionId)
			return true;
	}
	return false;
}

bool
group_switch_waits_for(int64 shard_id)
{
	foreach_ptr (Waiting, waiting, all)
	{
		if (waiting->switched != InvalidSubTransactionId)
			continue;
		foreach_ptr (GroupMember, member, waiting->online.copy->members)
		{
			if (member->shard_id == shard_id)
				return true;
		}
	}
	return false;
}

void
group_switch_enter(void)
{
	busy++;
}

void
group_switch_leave(void)
{
	busy--;
}

/* ------------------------------------------------------------------------------------
 * The switch.
 */

/* Those that wait and are of the first one's user. */
static List *
next_batch(void)
{
	List *batch = NIL;

	foreach_ptr (Waiting, waiting, all)
	{
		const Waiting *first = batch == NIL ? waiting : linitial(batch);

		if (waiting->switched == InvalidSubTransactionId &&
			waiting->user == first->user && waiting->security == first->security)
			batch = lappend(batch, waiting);
	}
	return batch;
}

static void
switch_batch(List *batch, LOCKMODE least)
{
	List *copies = NIL;

	foreach_ptr (Waiting, waiting, batch)
	{
		if (group_copy_changed_here(waiting->online.copy->tables, least))
			ereport(ERROR,
					(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
					 errmsg("shard " INT64_FORMAT " can't be moved online",
							waiting->online.copy->shard_id),
					 errdetail("The statement has changed its table after the move."),
					 errhint("Use shard_transfer_mode block_writes.")));
		copies = lappend(copies, &waiting->online);
	}
	group_copy_switch(copies);
	DEBUG_POINT("move-before-switch");
	foreach_ptr (Waiting, waiting, batch)
	{
		const GroupCopy *copy = waiting->online.copy;

		waiting->step(copy, waiting->kind);
		group_copy_settle(waiting->online.move);
		move_progress_set(copy->shard_id, MOVE_COMPLETED);
		waiting->switched = GetCurrentSubTransactionId();
	}
}

/* What has a lock of that mode or a stronger one is taken for changed. */
static void
switch_all(LOCKMODE least)
{
	List *batch;

	while ((batch = next_batch()) != NIL)
	{
		const Waiting *first = linitial(batch);
		bool push = !ActiveSnapshotSet();
		Oid user;
		int security;

		if (push)
			PushActiveSnapshot(GetTransactionSnapshot());
		GetUserIdAndSecContext(&user, &security);
		if (user != first->user)
			SetUserIdAndSecContext(first->user,
								   first->security | SECURITY_LOCAL_USERID_CHANGE);
		busy++;
		PG_TRY();
		{
			switch_batch(batch, least);
		}
		PG_FINALLY();
		{
			busy--;
			SetUserIdAndSecContext(user, security);
		}
		PG_END_TRY();
		if (push)
			PopActiveSnapshot();
	}
}

/* A statement that is about to begin has locked what it is to change. */
void
group_switch_all(void)
{
	switch_all(ShareLock);
}

/* ------------------------------------------------------------------------------------
 * What comes before something else.
 */

static bool
is_move(Oid function)
{
	static const char *const names[] = {
		"citus_move_shard_placement", "citus_copy_shard_placement", "citus_schema_move",
		"master_move_shard_placement", "master_copy_shard_placement"};
	char *name;

	if (get_func_namespace(function) != PG_CATALOG_NAMESPACE)
		return false;
	name = get_func_name(function);
	for (int i = 0; name != NULL && i < lengthof(names); i++)
	{
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static bool
calls_move(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && is_move(((FuncExpr *) node)->funcid))
		return true;
	return expression_tree_walker(node, calls_move, context);
}

static bool
plan_calls_move(const Plan *plan)
{
	for (; plan != NULL; plan = plan->lefttree)
	{
		if (calls_move((Node *) plan->targetlist, NULL))
			return true;
	}
	return false;
}

static bool
may_wait_on(void)
{
	return all == NIL || busy > 0 || !group_switch_any();
}

static PlannedStmt *
switch_planner(Query *query, const char *source, int cursor_options, ParamListInfo params)
{
	if (!may_wait_on() && !calls_move((Node *) query->targetList, NULL))
		group_switch_all();
	return hook_planner_next(PLANNER_SWITCH, query, source, cursor_options, params);
}

static void
switch_start(QueryDesc *query, int eflags)
{
	if (!may_wait_on() && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 &&
		!plan_calls_move(query->plannedstmt->planTree))
	{
		group_switch_all();
		/* A plan that was kept: the statement is to see what was done now. */
		query->snapshot->curcid = GetCurrentCommandId(false);
	}
	hook_start_next(START_SWITCH, query, eflags);
}

/* Does it only carry other statements, or say how they are run? */
static bool
is_transparent(const Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_CallStmt:
		case T_ClosePortalStmt:
		case T_DeallocateStmt:
		case T_DoStmt:
		case T_ExecuteStmt:
		case T_FetchStmt:
		case T_TransactionStmt:
		case T_VariableSetStmt:
		case T_VariableShowStmt:
			return true;
		default:
			return false;
	}
}

/* A block's COMMIT: when PostgreSQL is at it, a subtransaction can't be rolled back any
 * more, as an attempt to lock has to be. */
static bool
commits(const Node *statement)
{
	return IsA(statement, TransactionStmt) &&
		   ((const TransactionStmt *) statement)->kind == TRANS_STMT_COMMIT &&
		   !IsAbortedTransactionBlockState();
}

static void
switch_utility(PlannedStmt *pstmt, const char *text, bool read_only_tree,
			   ProcessUtilityContext context, ParamListInfo params,
			   QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	if (!may_wait_on() && commits(pstmt->utilityStmt))
		switch_all(RowExclusiveLock);
	else if (!may_wait_on() && !is_transparent(pstmt->utilityStmt))
		group_switch_all();
	hook_utility_next(UTILITY_SWITCH, pstmt, text, read_only_tree, context, params,
					  environment, dest, qc);
}

/* ------------------------------------------------------------------------------------
 * Ends of transactions.
 */

static void
switch_transaction(XactEvent event, void *arg)
{
	if (IsParallelWorker())
		return;
	if (event == XACT_EVENT_PRE_COMMIT)
		switch_all(RowExclusiveLock);
	/* Writers would wait for as long as the client likes. */
	if (event == XACT_EVENT_PRE_PREPARE && all != NIL)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot PREPARE a transaction that moves shards while they are in "
					"use"),
			 errhint("Move them with shard_transfer_mode => 'block_writes'.")));
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE ||
		event == XACT_EVENT_ABORT)
		online_move_close_sessions();
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE ||
		event == XACT_EVENT_ABORT)
	{
		all = NIL;
		busy = 0;
	}
}

static void
switch_subtransaction(SubXactEvent event, SubTransactionId own, SubTransactionId parent,
					  void *arg)
{
	ListCell *cell;

	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	foreach (cell, all)
	{
		Waiting *waiting = lfirst(cell);
		bool committed = event == SUBXACT_EVENT_COMMIT_SUB;

		if (waiting->switched == own)
			waiting->switched = committed ? parent : InvalidSubTransactionId;
		if (waiting->made == own && committed)
			waiting->made = parent;
		else if (waiting->made == own)
			all = foreach_delete_current(all, cell);
	}
}

void
group_switch_init(void)
{
	hook_planner(PLANNER_SWITCH, switch_planner);
	hook_start(START_SWITCH, switch_start);
	hook_utility(UTILITY_SWITCH, switch_utility);
	RegisterXactCallback(switch_transaction, NULL);
	RegisterSubXactCallback(switch_subtransaction, NULL);
}
