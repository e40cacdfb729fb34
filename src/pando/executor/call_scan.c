/*
 * call_scan.c: the plan node "Citus Call": a query that is one call of a distributed
 * function, or of one that is the coordinator's.
 *
 * When the first row is asked for it is known how the call may leave this node; then its
 * text runs on the node that has the rows, and all rows of the answer are here before the
 * first is handed on: the function has done its work, as PostgreSQL's would have. Else
 * the plan below runs, which is PostgreSQL's own. So it does on the node that serves the
 * call.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "pando/compat/query_form.h"
#include "pando/executor/call.h"
#include "pando/executor/explain.h"
#include "pando/executor/spill.h"
#include "pando/metadata/function.h"
#include "pando/metadata/node.h"
#include "pando/plan/fragment.h"
#include "pando/transaction/xact.h"

typedef struct CallScan
{
	CustomScanState css;
	const char *text; /* empty: it does not leave this node */
	DistFunction function;
	Oid anchor;
	CallPlace place;
	bool has_key;	 /* the first of `values` */
	List *values;	 /* ExprState *: the key, if there is one, then the text's */
	Query *computed; /* of the coordinator's: computes the text's values */
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
	const DistFunction *function = dist_function(linitial_oid(oids));

	scan->function.funcid = linitial_oid(oids);
	if (function != NULL)
		scan->function = *function;
	scan->anchor = lsecond_oid(oids);
	scan->text = strVal(lsecond(plan->custom_private));
	scan->computed = lfourth(plan->custom_private);
	scan->values = ExecInitExprList(plan->custom_exprs, &node->ss.ps);
	outerPlanState(node) = ExecInitNode(outerPlan(plan), estate, eflags);
}

static Datum
value_at(CallScan *scan, int i, bool *isnull)
{
	return ExecEvalExpr((ExprState *) list_nth(scan->values, i),
						scan->css.ss.ps.ps_ExprContext, isnull);
}

static CallPlace
place_of_call(CallScan *scan, CallWay way)
{
	const DistTable *anchor;
	bool isnull;
	Datum key;

	if (scan->function.coordinators)
		return call_coordinator();
	anchor = OidIsValid(scan->anchor) ? call_anchor(dist_table(scan->anchor), way) : NULL;
	if (anchor == NULL || !dist_table_is_sharded(anchor) || anchor->nshards == 0)
		return (CallPlace){false};
	scan->has_key = anchor->kind == TABLE_HASH;
	if (!scan->has_key)
		return call_place(anchor, 0);
	key = value_at(scan, 0, &isnull);
	return call_place(anchor, shard_index_of_value(anchor, key, isnull));
}

/* The rows' descriptor. What a record consists of says the function. */
static TupleDesc
desc_of_rows(CallScan *scan)
{
	CustomScan *plan = (CustomScan *) scan->css.ss.ps.plan;
	TupleDesc desc = scan->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	Node *record = list_nth(plan->custom_private, 2);
	TupleDesc fields;

	if (record == NULL)
		return desc;
	(void) get_expr_result_type(record, NULL, &fields);
	desc = CreateTupleDescCopy(desc);
	TupleDescAttr(desc, 0)->atttypmod = BlessTupleDesc(fields)->tdtypmod;
	return desc;
}

static RemoteCall
call_of(CallScan *scan, int count)
{
	return (RemoteCall){.function = &scan->function,
						.sql = scan->text,
						.nparams = count,
						.types = palloc(sizeof(Oid) * (count + 1)),
						.values = palloc(sizeof(Datum) * (count + 1)),
						.nulls = palloc(sizeof(bool) * (count + 1))};
}

static RemoteCall
call_for_rows(CallScan *scan)
{
	CustomScan *plan = (CustomScan *) scan->css.ss.ps.plan;
	int first = scan->has_key ? 1 : 0;
	RemoteCall call = call_of(scan, list_length(scan->values) - first);

	for (int i = 0; i < call.nparams; i++)
	{
		call.types[i] = exprType(list_nth(plan->custom_exprs, first + i));
		call.values[i] = value_at(scan, first + i, &call.nulls[i]);
	}
	return call;
}

/* The row of the query that computes the values, in the caller's memory. */
static RemoteCall
call_for_coordinator(CallScan *scan)
{
	EState *estate = scan->css.ss.ps.state;
	Query *query = copyObject(scan->computed);
	List *targets = query->targetList;
	RemoteCall call = call_of(scan, list_length(targets));
	QueryDesc *desc;
	TupleTableSlot *slot;

	query_form_leave(query);
	AcquireRewriteLocks(query, true, false);
	desc = CreateQueryDesc(pg_plan_query(query, "", 0, estate->es_param_list_info), "",
						   estate->es_snapshot, InvalidSnapshot, None_Receiver,
						   estate->es_param_list_info, NULL, 0);
	ExecutorStart(desc, 0);
	slot = ExecProcNode(desc->planstate);
	slot_getallattrs(slot);
	for (int i = 0; i < call.nparams; i++)
	{
		Form_pg_attribute column = TupleDescAttr(slot->tts_tupleDescriptor, i);

		call.types[i] = exprType((Node *) ((TargetEntry *) list_nth(targets, i))->expr);
		call.nulls[i] = slot->tts_isnull[i];
		if (call.nulls[i])
			continue;
		call.values[i] =
			call.types[i] == UNKNOWNOID
				? CStringGetTextDatum(DatumGetCString(slot->tts_values[i]))
				: datumCopy(slot->tts_values[i], column->attbyval, column->attlen);
	}
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	return call;
}

/* Not if it is about a table that is this node's business as well. */
static bool
is_for_coordinator(const CallScan *scan, const RemoteCall *call)
{
	if (!scan->function.of_table)
		return true;
	for (int i = 0; i < call->nparams; i++)
	{
		const DistTable *table = call->types[i] == REGCLASSOID && !call->nulls[i]
									 ? dist_table(DatumGetObjectId(call->values[i]))
									 : NULL;

		if (table != NULL && table->managed_local)
			return true;
	}
	return false;
}

static void
run_there(CallScan *scan, CallWay way, const DistNode *node)
{
	EState *estate = scan->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	RemoteCall call =
		scan->computed != NULL ? call_for_coordinator(scan) : call_for_rows(scan);
	TupleDesc desc = desc_of_rows(scan);
	Tuplestorestate *rows = tuplestore_begin_heap(true, false, work_mem);

	if (is_for_coordinator(scan, &call) && call_run(node, way, &call, desc, rows))
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
	CallWay way = CALL_STAYS;
	const DistNode *node;

	scan->decided = true;
	if (scan->text[0] != '\0' && !explain_options(&scan->css.ss.ps).analyze)
		way = call_way(&scan->function, scan->css.ss.ps.state, true, true);
	if (way == CALL_STAYS && !scan->function.forced)
		return;
	scan->place = place_of_call(scan, way);
	node = way != CALL_STAYS ? scan->place.node : NULL;
	if (node != NULL)
		run_there(scan, way, node);
}

/* A row of PostgreSQL's own plan. */
typedef struct RowHere
{
	PlanState *plan;
	TupleTableSlot *slot;
} RowHere;

static void
next_row(void *arg)
{
	RowHere *row = arg;

	row->slot = ExecProcNode(row->plan);
}

static TupleTableSlot *
run_here(CallScan *scan)
{
	RowHere row = {.plan = outerPlanState(scan)};

	/* Within its transaction the node that asks tells all others itself. */
	if (scan->function.coordinators && IsTransactionBlock())
		return ExecProcNode(row.plan);
	call_run_here(scan->function.forced, scan->place, next_row, &row);
	return row.slot;
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

/* Where the call would run: as far as can be told before. */
static const DistNode *
likely_node(CallScan *scan, const ExplainState *es)
{
	EState *estate = scan->css.ss.ps.state;
	const DistNode *there = NULL;

	if (!es->analyze && scan->text[0] != '\0' &&
		(!xact_must_join() || xact_may_delegate(estate)))
		there = place_of_call(scan, CALL_STAYS).node;
	return there != NULL ? there : node_local();
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	CallScan *scan = (CallScan *) node;
	const DistNode *there = likely_node(scan, es);

	ExplainPropertyText("Function", get_func_name(scan->function.funcid), es);
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
