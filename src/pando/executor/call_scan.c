/*
 * call_scan.c: the plan node "Citus Call": a query that is one call of a distributed
 * function.
 *
 * When the first row is asked for it is known whether the call is all of its transaction;
 * then its text runs on the node that has the rows, and all rows of the answer are here
 * before the first is handed on: the function has done its work, as PostgreSQL's would
 * have. Else the plan below runs, which is PostgreSQL's own. So it does on the node that
 * serves the call.
 */
#include "pando/compat/compat.h"

#include "commands/dbcommands.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "pando/executor/call.h"
#include "pando/executor/spill.h"
#include "pando/plan/fragment.h"
#include "pando/transaction/xact.h"

typedef struct CallScan
{
	CustomScanState css;
	const char *text;
	Oid function;
	Oid anchor;
	List *values; /* ExprState *: the key, if there is one, then the text's */
	bool decided;
	Tuplestorestate *rows; /* of another node; NULL: the plan below runs */
	TupleTableSlot *row;
} CallScan;

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	CallScan *scan = (CallScan *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	List *oids = linitial(plan->custom_private);

	scan->function = linitial_oid(oids);
	scan->anchor = lsecond_oid(oids);
	scan->text = strVal(lsecond(plan->custom_private));
	scan->values = ExecInitExprList(plan->custom_exprs, &node->ss.ps);
	outerPlanState(node) = ExecInitNode(outerPlan(plan), estate, eflags);
}

static Datum
value_at(CallScan *scan, int i, bool *isnull)
{
	return ExecEvalExpr((ExprState *) list_nth(scan->values, i),
						scan->css.ss.ps.ps_ExprContext, isnull);
}

static const DistNode *
node_of_call(CallScan *scan)
{
	const DistTable *anchor = OidIsValid(scan->anchor) ? dist_table(scan->anchor) : NULL;
	bool isnull;
	Datum key;

	if (anchor == NULL || !dist_table_is_sharded(anchor))
		return NULL;
	if (anchor->kind != TABLE_HASH)
		return call_node(anchor, -1);
	key = value_at(scan, 0, &isnull);
	return call_node(anchor, shard_index_of_value(anchor, key, isnull));
}

static void
run_there(CallScan *scan, const DistNode *node)
{
	EState *estate = scan->css.ss.ps.state;
	CustomScan *plan = (CustomScan *) scan->css.ss.ps.plan;
	TupleDesc desc = scan->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	int first = dist_table_require(scan->anchor)->kind == TABLE_HASH ? 1 : 0;
	int count = list_length(scan->values) - first;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	RemoteCall call = {.sql = scan->text,
					   .nparams = count,
					   .types = palloc(sizeof(Oid) * (count + 1)),
					   .values = palloc(sizeof(Datum) * (count + 1)),
					   .nulls = palloc(sizeof(bool) * (count + 1))};
	Tuplestorestate *rows = tuplestore_begin_heap(true, false, work_mem);

	for (int i = 0; i < count; i++)
	{
		call.types[i] = exprType(list_nth(plan->custom_exprs, first + i));
		call.values[i] = value_at(scan, first + i, &call.nulls[i]);
	}
	if (call_run(node, &call, desc, rows))
	{
		scan->rows = rows;
		scan->row = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	}
	else
		tuplestore_end(rows);
	MemoryContextSwitchTo(old);
}

static void
decide(CallScan *scan)
{
	const DistNode *node = NULL;

	scan->decided = true;
	if (OidIsValid(scan->anchor) && scan->css.ss.ps.instrument == NULL &&
		xact_may_hand_over())
		node = node_of_call(scan);
	if (node != NULL)
		run_there(scan, node);
}

static TupleTableSlot *
run_here(CallScan *scan)
{
	PlanState *below = outerPlanState(scan);
	bool serves = xact_is_for_node();
	TupleTableSlot *volatile slot = NULL;

	if (!serves)
		return ExecProcNode(below);
	xact_serve(true);
	PG_TRY();
	{
		slot = ExecProcNode(below);
	}
	PG_FINALLY();
	{
		xact_serve(false);
	}
	PG_END_TRY();
	return slot;
}

static TupleTableSlot *
exec(CustomScanState *node)
{
	CallScan *scan = (CallScan *) node;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	if (!scan->decided)
		decide(scan);
	if (scan->rows == NULL)
		return run_here(scan);
	ExecClearTuple(slot);
	if (!tuplestore_gettupleslot(scan->rows, true, false, scan->row))
		return slot;
	return row_as_virtual(scan->row, slot);
}

static void
end(CustomScanState *node)
{
	CallScan *scan = (CallScan *) node;

	ExecEndNode(outerPlanState(node));
	if (scan->rows == NULL)
		return;
	ExecDropSingleTupleTableSlot(scan->row);
	tuplestore_end(scan->rows);
	scan->rows = NULL;
}

static void
rescan(CustomScanState *node)
{
	CallScan *scan = (CallScan *) node;

	if (scan->rows != NULL)
		tuplestore_rescan(scan->rows);
	else if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	CallScan *scan = (CallScan *) node;
	const DistNode *there = es->analyze ? NULL : node_of_call(scan);

	ExplainPropertyText("Function", get_func_name(scan->function), es);
	if (there == NULL)
		there = node_local();
	if (there == NULL)
		return;
	ExplainPropertyText("Node",
						psprintf("host=%s port=%d dbname=%s", there->host, there->port,
								 get_database_name(MyDatabaseId)),
						es);
	if (es->verbose && scan->text[0] != '\0')
		ExplainPropertyText("Query", scan->text, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Citus Call",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = explain,
};

void
call_scan_register(void)
{
	plan_register_kind(PLAN_CALL, sizeof(CallScan), &exec_methods);
}
