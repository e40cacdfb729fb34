/*
 * scan.c: the plan node "Citus Adaptive": a fragment's rows for PostgreSQL's executor.
 *
 * Nothing is done before the first row is asked for, but by cursors and statements that
 * may write: nodes read as of when they are asked. A write is done to its end then.
 * Where the plan above may ask for the rows again they are kept in a tuplestore as they
 * pass, the way a Material node does it, so that every pass sees the same rows.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "pando/base/debug_point.h"
#include "pando/base/hook.h"
#include "pando/executor/explain.h"
#include "pando/executor/run.h"
#include "pando/executor/scan.h"
#include "pando/metadata/table.h"
#include "pando/transaction/access.h"
#include "pando/transaction/xact.h"

static const CustomExecMethods exec_methods;

typedef struct FragmentScan
{
	CustomScanState css;
	Fragment *fragment;
	FragmentRun *run; /* NULL until the first row is asked for */
	bool keep;		  /* rows may be asked for again */
	bool standalone;  /* the transaction ends with the statement */
	bool exhausted;	  /* the run has no more rows */
	bool running;	  /* in `running`, by `link` */
	int level;		  /* of the subtransaction that it runs in */
	dlist_node link;
	MemoryContextCallback on_drop;
	List *arguments; /* ExprState *: values that the fragment is sent */
	Tuplestorestate *store;
	TupleTableSlot *store_slot;
} FragmentScan;

/* ------------------------------------------------------------------------------------
 * The node.
 */

/*
 * The statement's tables are in use while it runs: a function that it calls, or who holds
 * a cursor, can't truncate, change or drop them, as in PostgreSQL, which opens what it
 * scans. Here they are opened once a schema change comes (use_utility()): that is rare,
 * statements are not. A node that is kept for another execution
 * (planner/kept_execution.c) has let go.
 */
static dlist_head running = DLIST_STATIC_INIT(running);

static void
let_tables_go(void *arg)
{
	FragmentScan *scan = arg;

	if (scan->running)
		dlist_delete(&scan->link);
	scan->running = false;
}

static void
use_tables(FragmentScan *scan)
{
	if (scan->running)
		return;
	dlist_push_head(&running, &scan->link);
	scan->running = true;
	scan->level = GetCurrentTransactionNestLevel();
}

/* What ran in a subtransaction that fails may stay in memory, a SQL function's state. */
static void
scan_subxact(SubXactEvent event, SubTransactionId mine, SubTransactionId parent,
			 void *arg)
{
	int level = GetCurrentTransactionNestLevel();
	dlist_mutable_iter iter;

	if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB)
		return;
	dlist_foreach_modify (iter, &running)
	{
		FragmentScan *scan = dlist_container(FragmentScan, link, iter.cur);

		if (scan->level < level)
			continue;
		if (event == SUBXACT_EVENT_ABORT_SUB)
			let_tables_go(scan);
		else
			scan->level = level - 1;
	}
}

/* Opens distributed tables of the statement. */
static List *
open_tables(List *opened, const EState *estate)
{
	foreach_ptr (RangeTblEntry, rte, estate->es_range_table)
	{
		Relation relation = NULL;

		if (rte->rtekind == RTE_RELATION && dist_table(rte->relid) != NULL)
			relation = RelationIdGetRelation(rte->relid);
		if (relation != NULL)
			opened = lappend(opened, relation);
	}
	return opened;
}

/*
 * A statement that changes tables finds those that are in use. One that commits by itself
 * (CREATE INDEX CONCURRENTLY) could not hold them: it has no statement running around it.
 */
static void
use_utility(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
			ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *env,
			DestReceiver *dest, QueryCompletion *qc)
{
	Node *statement = pstmt->utilityStmt;
	const EState *last = NULL;
	List *opened = NIL;
	dlist_iter iter;

	if (!dlist_is_empty(&running) &&
		(context != PROCESS_UTILITY_TOPLEVEL || IsTransactionBlock()) &&
		(IsA(statement, TruncateStmt) || IsA(statement, ReindexStmt) ||
		 GetCommandLogLevel(statement) == LOGSTMT_DDL))
		dlist_foreach (iter, &running)
		{
			const EState *estate =
				dlist_container(FragmentScan, link, iter.cur)->css.ss.ps.state;

			if (estate != last)
				opened = open_tables(opened, estate);
			last = estate;
		}
	hook_utility_next(UTILITY_USE, pstmt, query_string, read_only_tree, context, params,
					  env, dest, qc);
	foreach_ptr (RelationData, relation, opened)
		RelationClose(relation);
}

static void
start_run(FragmentScan *scan)
{
	EState *estate = scan->css.ss.ps.state;
	Plan *last = estate->es_plannedstmt->planTree;
	bool whole = last == scan->css.ss.ps.plan && scan->css.custom_ps == NIL;
	RunExplain explain = explain_options(&scan->css.ss.ps);

	/* The node may be kept from another transaction (planner/kept_execution.c). */
	if (whole)
		scan->standalone = !xact_must_join();
	use_tables(scan);
	scan->run = run_create(&scan->css.ss.ps, scan->fragment, whole, &explain);
	run_start(scan->run);
	if (plan_is_kind(last, PLAN_STEPS))
		last = outerPlan(last);
	if (scan->fragment->command != CMD_SELECT && last == scan->css.ss.ps.plan)
		estate->es_processed += scan->run->processed;
}

/* What a statement's steps change is to be seen; rows are locked when they are wanted. */
static bool
starts_early(const FragmentScan *scan, int eflags)
{
	const EState *estate = scan->css.ss.ps.state;

	return scan->fragment->early && scan->fragment->command == CMD_SELECT &&
		   !scan->fragment->locks && scan->arguments == NIL &&
		   (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && estate->es_epq_active == NULL &&
		   !plan_is_kind(estate->es_plannedstmt->planTree, PLAN_STEPS);
}

/*
 * Who has rights on some columns only, and has named those, may have others filled with
 * their defaults, and rows found by their ctid. Nodes don't see what he named: they are
 * told, by a signature, that it has been checked.
 */
static void
lend_columns(Template *template)
{
	bool lends;

	if (template->roles != NIL)
		return;
	lends =
		OidIsValid(template->fills) && access_is_by_columns(template->fills, ACL_INSERT);
	foreach_oid(relid, template->reads)
	{
		lends |= access_is_by_columns(relid, ACL_SELECT);
	}
	if (lends)
		template->roles = list_make1_oid(GetUserId());
}

static void
scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	FragmentScan *scan = (FragmentScan *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	if (eflags & EXEC_FLAG_BACKWARD)
		elog(ERROR, "a fragment can't be scanned backward");
	scan->fragment = fragment_unpack(plan->custom_private);
	lend_columns(scan->fragment->template);
	scan->standalone = (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && !xact_must_join();
	scan->keep = scan->fragment->command == CMD_SELECT &&
				 (scan->fragment->store || (eflags & EXEC_FLAG_REWIND) != 0);
	scan->arguments = ExecInitExprList(plan->custom_exprs, &node->ss.ps);
	foreach_ptr (Plan, source, plan->custom_plans)
		node->custom_ps = lappend(node->custom_ps, ExecInitNode(source, estate, 0));
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
	{
		scan->on_drop.func = let_tables_go;
		scan->on_drop.arg = scan;
		MemoryContextRegisterResetCallback(estate->es_query_cxt, &scan->on_drop);
		use_tables(scan);
	}
	if (starts_early(scan, eflags))
		start_run(scan);
}

bool
scan_tasks_are_free(PlanState *planstate)
{
	return ((FragmentScan *) planstate)->fragment->template->roles == NIL;
}

Datum
scan_argument(PlanState *planstate, int number, bool *isnull)
{
	FragmentScan *scan = (FragmentScan *) planstate;

	return ExecEvalExpr((ExprState *) list_nth(scan->arguments, number),
						planstate->ps_ExprContext, isnull);
}

FragmentRun *
scan_prepare_run(PlanState *planstate)
{
	FragmentScan *scan = (FragmentScan *) planstate;
	RunExplain explain = explain_options(planstate);

	Assert(castNode(CustomScanState, planstate)->methods == &exec_methods);
	Assert(scan->run == NULL);
	scan->run = run_create(planstate, scan->fragment, false, &explain);
	run_prepare(scan->run);
	return scan->run;
}

static bool
next_from_run(FragmentScan *scan, TupleTableSlot *slot)
{
	if (scan->run == NULL)
		start_run(scan);
	if (!run_next(scan->run, slot->tts_values, slot->tts_isnull))
	{
		scan->exhausted = true;
		return false;
	}
	ExecStoreVirtualTuple(slot);
	return true;
}

static void
make_store(FragmentScan *scan)
{
	EState *estate = scan->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	scan->store = tuplestore_begin_heap(false, false, work_mem);
	tuplestore_set_eflags(scan->store, EXEC_FLAG_REWIND);
	scan->store_slot = MakeSingleTupleTableSlot(
		scan->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(old);
}

/* A row that an earlier pass has seen. */
static bool
next_from_store(FragmentScan *scan, TupleTableSlot *slot)
{
	MemoryContext old;
	bool found;

	if (tuplestore_ateof(scan->store))
		return false;
	DEBUG_STEPS(1);
	/* The slot owns a row that comes from a file, longer than the caller's row lives. */
	old = MemoryContextSwitchTo(scan->css.ss.ps.state->es_query_cxt);
	found = tuplestore_gettupleslot(scan->store, true, false, scan->store_slot);
	MemoryContextSwitchTo(old);
	if (!found)
		return false;
	(void) row_as_virtual(scan->store_slot, slot);
	return true;
}

static TupleTableSlot *
scan_next(ScanState *node)
{
	FragmentScan *scan = (FragmentScan *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	MemoryContext old =
		MemoryContextSwitchTo(node->ps.ps_ExprContext->ecxt_per_tuple_memory);

	ExecClearTuple(slot);
	if (scan->keep && scan->store == NULL)
		make_store(scan);
	if ((scan->store == NULL || !next_from_store(scan, slot)) && !scan->exhausted &&
		next_from_run(scan, slot) && scan->store != NULL)
		tuplestore_puttupleslot(scan->store, slot);
	MemoryContextSwitchTo(old);
	return slot;
}

/*
 * A row of another table was changed while we waited for its lock, and the core takes a
 * second look: with the row of ours that it was joined to, which travelled with it.
 */
static bool
scan_recheck(ScanState *node, TupleTableSlot *slot)
{
	EPQState *epq = node->ps.state->es_epq_active;
	Index varno = bms_singleton_member(((CustomScan *) node->ps.plan)->custom_relids);

	if (epq->relsubs_done[varno - 1])
		return false;
	if (epq->relsubs_rowmark[varno - 1] == NULL)
		elog(ERROR, "a fragment has no row for a second look");
	epq->relsubs_done[varno - 1] = true;
	return EvalPlanQualFetchRowMark(epq, varno, slot);
}

static TupleTableSlot *
scan_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, scan_next, scan_recheck);
}

static void
end_run(FragmentScan *scan, bool may_cancel)
{
	if (scan->run != NULL)
		run_end(scan->run, may_cancel);
	scan->run = NULL;
	scan->exhausted = false;
}

static void
scan_end(CustomScanState *node)
{
	FragmentScan *scan = (FragmentScan *) node;

	end_run(scan, scan->standalone);
	let_tables_go(scan);
	foreach_ptr (PlanState, source, node->custom_ps)
	{
		ExecEndNode(source);
	}
	if (scan->store != NULL)
	{
		ExecDropSingleTupleTableSlot(scan->store_slot);
		tuplestore_end(scan->store);
	}
	scan->store = NULL;
}

/* Must the tasks run anew? Only arguments change during the statement. */
static bool
is_outdated(const FragmentScan *scan)
{
	const Bitmapset *changed = scan->css.ss.ps.chgParam;

	return scan->arguments != NIL
			   ? changed != NULL
			   : scan->fragment->restart > 0 &&
					 bms_is_member(scan->fragment->restart - 1, changed);
}

static void
scan_rescan(CustomScanState *node)
{
	FragmentScan *scan = (FragmentScan *) node;

	ExecScanReScan(&node->ss);
	if (scan->run == NULL)
		return;
	if (scan->fragment->command != CMD_SELECT)
		elog(ERROR, "a write can't be repeated");
	if (is_outdated(scan))
	{
		end_run(scan, false);
		if (scan->store != NULL)
			tuplestore_clear(scan->store);
	}
	else if (scan->store != NULL)
		tuplestore_rescan(scan->store);
	else
	{
		end_run(scan, false);
		scan->keep = true;
	}
}

static void
scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	FragmentScan *scan = (FragmentScan *) node;

	explain_fragment(&node->ss.ps, scan->fragment, scan->run, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Citus Adaptive",
	.BeginCustomScan = scan_begin,
	.ExecCustomScan = scan_exec,
	.EndCustomScan = scan_end,
	.ReScanCustomScan = scan_rescan,
	.ExplainCustomScan = scan_explain,
};

void
scan_register(void)
{
	plan_register_kind(PLAN_FRAGMENT, sizeof(FragmentScan), &exec_methods);
	hook_utility(UTILITY_USE, use_utility);
	RegisterSubXactCallback(scan_subxact, NULL);
}
