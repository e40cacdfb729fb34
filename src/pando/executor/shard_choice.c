/*
 * shard_choice.c: runs the one child that has the rows of a key.
 *
 * The children are plans for shards of one table on this node. The value is computed anew
 * after each rescan; its hash chooses the child, which starts afresh then. Others keep
 * whatever state they have: they start afresh, too, when their turn comes.
 */
#include "pando/compat/compat.h"

#include "executor/executor.h"
#include "nodes/extensible.h"

#include "pando/executor/shard_choice.h"
#include "pando/executor/spill.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"

typedef struct ShardChoiceScan
{
	CustomScanState css;
	const DistTable *table;
	ExprState *value;
	PlanState **by_shard; /* NULL: not among the children */
	PlanState *chosen;
	bool decided; /* is `chosen` of the value as it is now? */
} ShardChoiceScan;

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	ShardChoiceScan *choice = (ShardChoiceScan *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	ListCell *child;
	ListCell *index;

	choice->table = dist_table_require(linitial_oid(linitial(plan->custom_private)));
	choice->value = ExecInitExpr(linitial(plan->custom_exprs), &node->ss.ps);
	choice->by_shard = palloc0(sizeof(PlanState *) * (choice->table->nshards + 1));
	forboth(child, plan->custom_plans, index, (List *) lsecond(plan->custom_private))
	{
		PlanState *state = ExecInitNode(lfirst(child), estate, eflags);

		node->custom_ps = lappend(node->custom_ps, state);
		if (lfirst_int(index) < choice->table->nshards)
			choice->by_shard[lfirst_int(index)] = state;
	}
}

static void
decide(ShardChoiceScan *choice)
{
	PlanState *ps = &choice->css.ss.ps;
	bool isnull;
	Datum value = ExecEvalExprSwitchContext(choice->value, ps->ps_ExprContext, &isnull);

	choice->decided = true;
	choice->chosen =
		isnull ? NULL
			   : choice->by_shard[shard_index_of_value(choice->table, value, false)];
	if (choice->chosen == NULL)
		return;
	UpdateChangedParamSet(choice->chosen, ps->plan->extParam);
	if (choice->chosen->chgParam == NULL)
		ExecReScan(choice->chosen);
}

/* The child's row as the scan's. */
static TupleTableSlot *
next_row(ShardChoiceScan *choice)
{
	TupleTableSlot *slot = choice->css.ss.ss_ScanTupleSlot;
	TupleTableSlot *row;

	if (!choice->decided)
		decide(choice);
	row = choice->chosen != NULL ? ExecProcNode(choice->chosen) : NULL;
	ExecClearTuple(slot);
	return TupIsNull(row) ? slot : row_as_virtual(row, slot);
}

static TupleTableSlot *
exec(CustomScanState *node)
{
	ResetExprContext(node->ss.ps.ps_ExprContext);
	return row_projected(node, next_row((ShardChoiceScan *) node));
}

static void
rescan(CustomScanState *node)
{
	((ShardChoiceScan *) node)->decided = false;
}

static void
end(CustomScanState *node)
{
	foreach_ptr (PlanState, child, node->custom_ps)
		ExecEndNode(child);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Citus Shard Choice",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
};

void
shard_choice_register(void)
{
	plan_register_kind(PLAN_SHARD_CHOICE, sizeof(ShardChoiceScan), &exec_methods);
}
