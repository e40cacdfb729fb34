/*
 * insert_select.c: INSERT ... SELECT whose rows come to this node.
 *
 * A CustomScan at the top of the plan: it runs its child plan and sends each row to its
 * shard. A child that itself reads from nodes is read to its end first, into a
 * tuplestore: the sessions it uses are those that the rows go out on, and what is
 * inserted must not be seen by the SELECT. Other children are streamed.
 */
#include "pando/compat/compat.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "utils/rls.h"
#include "utils/tuplestore.h"

#include "pando/copy/dest.h"
#include "pando/copy/insert_select.h"
#include "pando/plan/fragment.h"

typedef struct InsertSelectState
{
	CustomScanState css;
	PlanState *child;
	bool reads_nodes; /* the child has fragments */
	Oid target;
	List *attnums;
	bool done;
} InsertSelectState;

/* A planstate_tree_walker: is there a fragment, or anything that may hide one? */
static bool
has_fragment(PlanState *state, void *context)
{
	if (state == NULL)
		return false;
	if (IsA(state, CustomScanState))
		return true;
	return planstate_tree_walker(state, has_fragment, context);
}

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	InsertSelectState *state = (InsertSelectState *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;

	state->target = linitial_oid((List *) linitial(scan->custom_private));
	state->attnums = (List *) lsecond(scan->custom_private);
	/* Policies for new rows are not part of a COPY. */
	if (check_enable_rls(state->target, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("INSERT ... SELECT through this node is not supported with "
						"row-level security yet"),
				 errhint("Use INSERT with VALUES.")));
	state->child = ExecInitNode((Plan *) linitial(scan->custom_plans), estate, eflags);
	node->custom_ps = list_make1(state->child);
	foreach_ptr (SubPlanState, subplan, estate->es_subplanstates)
		state->reads_nodes |= has_fragment((PlanState *) subplan, NULL);
	state->reads_nodes |= has_fragment(state->child, NULL);
}

/* The next row of the child without its junk columns, which come last. */
static TupleTableSlot *
child_next(InsertSelectState *state)
{
	CHECK_FOR_INTERRUPTS();
	return ExecProcNode(state->child);
}

/* Reads the child to its end, then sends the rows. */
static void
run_stored(InsertSelectState *state, DestReceiver *dest)
{
	TupleDesc desc = ExecGetResultType(state->child);
	Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);
	TupleTableSlot *slot;

	for (slot = child_next(state); !TupIsNull(slot); slot = child_next(state))
		tuplestore_puttupleslot(store, slot);

	slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	dest->rStartup(dest, CMD_INSERT, desc);
	while (tuplestore_gettupleslot(store, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		dest->receiveSlot(slot, dest);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
}

static void
run_streamed(InsertSelectState *state, DestReceiver *dest)
{
	TupleTableSlot *slot;

	dest->rStartup(dest, CMD_INSERT, ExecGetResultType(state->child));
	for (slot = child_next(state); !TupIsNull(slot); slot = child_next(state))
		dest->receiveSlot(slot, dest);
}

static TupleTableSlot *
exec(CustomScanState *node)
{
	InsertSelectState *state = (InsertSelectState *) node;
	EState *estate = node->ss.ps.state;
	DestReceiver *dest;

	if (state->done)
		return NULL;
	state->done = true;

	dest = copy_dest_create(state->target, state->attnums);
	if (state->reads_nodes)
		run_stored(state, dest);
	else
		run_streamed(state, dest);
	dest->rShutdown(dest);
	estate->es_processed += copy_dest_processed(dest);
	dest->rDestroy(dest);
	return NULL;
}

static void
end(CustomScanState *node)
{
	ExecEndNode(((InsertSelectState *) node)->child);
}

static void
rescan(CustomScanState *node)
{
	elog(ERROR, "INSERT ... SELECT can't be run again");
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ExplainPropertyText("INSERT/SELECT method", "pull to coordinator", es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Citus INSERT ... SELECT",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = explain,
};

void
insert_select_init(void)
{
	plan_register_kind(PLAN_INSERT_SELECT, sizeof(InsertSelectState), &exec_methods);
}
