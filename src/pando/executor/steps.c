/*
 * steps.c: the plan node "Citus Steps": what runs before a statement's main query.
 *
 * Each step is a plan that runs to its end when the first row is asked for, and sees what
 * the ones before it have changed, as the main query does. The rows of a step are kept in
 * a tuplestore under its name, in the statement's query environment: scans of the steps
 * after it and of the main query, which are plain Named Tuplestore Scans, find them
 * there. They look when they start, subplans before the node itself, so that the names
 * are put there when the statement starts, by a hook.
 *
 * AFTER triggers that a step has to fire go into the statement's queue, and are fired
 * when the statement ends.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/queryenvironment.h"
#include "utils/snapmgr.h"

#include "pando/base/debug_point.h"
#include "pando/base/hook.h"
#include "pando/executor/explain.h"
#include "pando/executor/found_rows.h"
#include "pando/executor/steps.h"
#include "pando/executor/subplan.h"
#include "pando/plan/fragment.h"

typedef struct StepsScan
{
	CustomScanState css;
	bool done;
	List *kept;	   /* EphemeralNamedRelation of each step */
	List *queries; /* QueryDesc *, of steps that EXPLAIN ANALYZE will show */
} StepsScan;

static const char *
step_name(const List *step)
{
	return strVal(linitial(step));
}

static PlannedStmt *
step_plan(const List *step)
{
	return lthird_node(PlannedStmt, step);
}

/* Tables whose rows have been found by it, or before it, and are changed after it. */
static List *
step_found(const List *step)
{
	return lfourth(step);
}

static List *
steps_of(const Plan *plan)
{
	return ((const CustomScan *) plan)->custom_private;
}

/* ------------------------------------------------------------------------------------
 * Kept rows.
 */

static void
add_name(QueryEnvironment *environment, const List *step)
{
	EphemeralNamedRelation relation = palloc0(sizeof(EphemeralNamedRelationData));

	/* A step that has steps itself ends late where EXPLAIN ANALYZE will show it. */
	if (get_ENR(environment, step_name(step)) != NULL)
		unregister_ENR(environment, step_name(step));
	relation->md.name = pstrdup(step_name(step));
	relation->md.tupdesc = ExecCleanTypeFromTL(step_plan(step)->planTree->targetlist);
	relation->md.enrtype = ENR_NAMED_TUPLESTORE;
	relation->reldata = tuplestore_begin_heap(false, false, work_mem);
	register_ENR(environment, relation);
}

static Tuplestorestate *
kept_rows(EphemeralNamedRelation relation)
{
	return relation->reldata;
}

static void
steps_start(QueryDesc *query, int eflags)
{
	if (plan_is_kind(query->plannedstmt->planTree, PLAN_STEPS))
	{
		if (query->queryEnv == NULL)
			query->queryEnv = create_queryEnv();
		foreach_ptr (List, step, steps_of(query->plannedstmt->planTree))
			add_name(query->queryEnv, step);
	}
	hook_start_next(START_STEPS, query, eflags);
}

/* ------------------------------------------------------------------------------------
 * Running.
 */

static void
run_query(void *query)
{
	subplan_query_run(query);
}

static void
run_step(StepsScan *scan, const List *step, EphemeralNamedRelation rows)
{
	EState *estate = scan->css.ss.ps.state;
	DestReceiver *dest = CreateDestReceiver(DestTuplestore);
	QueryDesc *query;

	SetTuplestoreDestReceiverParams(dest, kept_rows(rows), estate->es_query_cxt, false,
									NULL, NULL);
	query = subplan_query(estate, step_plan(step),
						  step_plan(step)->planTree->targetlist ? dest : None_Receiver,
						  estate->es_instrument, EXEC_FLAG_SKIP_TRIGGERS);
	found_rows_keep(step_found(step), run_query, query);
	if (boolVal(lsecond(step)))
		estate->es_processed += query->estate->es_processed;
	if (estate->es_instrument)
		scan->queries = lappend(scan->queries, query);
	else
		subplan_query_end(query);
}

/* The main query, already started, sees what the steps have done. */
static void
see_changes(EState *estate)
{
	Snapshot snapshot;

	PushCopiedSnapshot(estate->es_snapshot);
	UpdateActiveSnapshotCommandId();
	snapshot = RegisterSnapshot(GetActiveSnapshot());
	PopActiveSnapshot();
	UnregisterSnapshot(estate->es_snapshot);
	estate->es_snapshot = snapshot;
	if (estate->es_plannedstmt->commandType != CMD_SELECT)
		estate->es_output_cid = GetCurrentCommandId(true);
}

static void
run_steps(StepsScan *scan)
{
	EState *estate = scan->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	ListCell *step;
	ListCell *rows;

	forboth(step, steps_of(scan->css.ss.ps.plan), rows, scan->kept)
	{
		if (lfirst(rows) == llast(scan->kept))
			DEBUG_POINT("steps-before-last");
		run_step(scan, lfirst(step), lfirst(rows));
	}
	see_changes(estate);
	MemoryContextSwitchTo(old);
}

/* ------------------------------------------------------------------------------------
 * The node.
 */

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	StepsScan *scan = (StepsScan *) node;

	foreach_ptr (List, step, steps_of(node->ss.ps.plan))
		scan->kept = lappend(scan->kept, get_ENR(estate->es_queryEnv, step_name(step)));
	outerPlanState(node) = ExecInitNode(outerPlan(node->ss.ps.plan), estate, eflags);
}

static TupleTableSlot *
exec(CustomScanState *node)
{
	StepsScan *scan = (StepsScan *) node;

	CHECK_FOR_INTERRUPTS();
	if (!scan->done)
		run_steps(scan);
	scan->done = true;
	return ExecProcNode(outerPlanState(node));
}

static void
end(CustomScanState *node)
{
	StepsScan *scan = (StepsScan *) node;
	QueryEnvironment *environment = node->ss.ps.state->es_queryEnv;

	ExecEndNode(outerPlanState(node));
	foreach_ptr (QueryDesc, query, scan->queries)
		subplan_query_end(query);
	foreach_ptr (EphemeralNamedRelationData, rows, scan->kept)
	{
		tuplestore_end(kept_rows(rows));
		if (get_ENR(environment, rows->md.name) == rows)
			unregister_ENR(environment, rows->md.name);
	}
}

static void
rescan(CustomScanState *node)
{
	elog(ERROR, "steps can't be run again");
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	StepsScan *scan = (StepsScan *) node;
	EState *estate = node->ss.ps.state;
	int number = 0;

	ExplainOpenGroup("Steps", "Steps", false, es);
	foreach_ptr (List, step, steps_of(node->ss.ps.plan))
	{
		QueryDesc *query;

		if (scan->queries != NIL)
		{
			explain_step(step_name(step), list_nth(scan->queries, number++), es);
			continue;
		}
		query = subplan_query(estate, step_plan(step), None_Receiver, 0,
							  EXEC_FLAG_EXPLAIN_ONLY);
		explain_step(step_name(step), query, es);
		subplan_query_end(query);
	}
	ExplainCloseGroup("Steps", "Steps", false, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Citus Steps",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = explain,
};

void
steps_init(void)
{
	plan_register_kind(PLAN_STEPS, sizeof(StepsScan), &exec_methods);
	hook_start(START_STEPS, steps_start);
}
