/*
 * batched_lookup.c: runs a nested loop over shards, many rows at a time.
 *
 * The child is PostgreSQL's nested loop over an Append of shards. Its first row is looked
 * up as the nested loop would do it, shard by shard. For those that come after it the
 * loops change places: a batch of rows is taken to one shard after the other, in the
 * order of what they are looked up by, so that the pages of one index are in the
 * processor's caches while they are wanted. What is found is kept until the row's turn
 * comes: rows come out as from the nested loop, in its order. A batch has as many rows as
 * there were before it, so that who wants few rows hardly has more read; where processes
 * share the outer rows a quarter of that, or one of them would take most of what there is
 * while others start. One that finds more than fits into work_mem is cut in two.
 *
 * All state is the nested loop's own: its expressions, its outer and its inner plan. A
 * row that has a batch to itself goes through the Append, and nothing of it is kept.
 */
#include "pando/compat/compat.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"

#include "pando/executor/batched_lookup.h"
#include "pando/executor/spill.h"
#include "pando/plan/fragment.h"

#define MAX_BATCH 4096

/* The row itself follows. */
typedef struct FoundRow
{
	struct FoundRow *next;
} FoundRow;

#define FOUND_ROW_HEADER MAXALIGN(sizeof(FoundRow))
#define FOUND_TUPLE(row) ((MinimalTuple) ((char *) (row) + FOUND_ROW_HEADER))

/* A row of the outer plan. */
typedef struct OuterRow
{
	TupleTableSlot *slot;
	bool matched;
	bool settled; /* no more matches are wanted */
	FoundRow *first;
	FoundRow *last;
	Datum value; /* of the first parameter */
	bool isnull;
} OuterRow;

typedef struct BatchedLookup
{
	CustomScanState css;
	NestLoopState *loop; /* NULL: the child is none, and runs by itself */
	AppendState *shards;
	Bitmapset *params; /* which the loop hands down */
	AttrNumber column; /* of the outer plan: the first of them */
	SortSupport sort;  /* of its values; NULL: they have no order */
	MemoryContext memory;
	TupleTableSlot *found_slot;

	int64 seen; /* rows of the outer plan */
	int max;	/* rows of a batch */
	int share;	/* of the rows seen that the next batch has: one of so many */
	int room;	/* for so many, so far */
	OuterRow *rows;
	OuterRow **order; /* in which they are looked up, from `at` to `end` */
	int count;		  /* of the batch */
	int at;			  /* the row whose turn it is */
	int end;		  /* of those that were looked up */
	bool through;	  /* by the Append: the row's matches come from it */
	bool active;	  /* does it have its turn already? */
	bool ended;		  /* the outer plan has no more rows */
} BatchedLookup;

/* ------------------------------------------------------------------------------------
 * Looking up.
 */

static void
set_params(BatchedLookup *batch, OuterRow *row)
{
	NestLoop *plan = (NestLoop *) batch->loop->js.ps.plan;
	EState *estate = batch->css.ss.ps.state;

	foreach_ptr (NestLoopParam, param, plan->nestParams)
	{
		ParamExecData *value = &estate->es_param_exec_vals[param->paramno];

		value->value = slot_getattr(row->slot, param->paramval->varattno, &value->isnull);
	}
}

static void
keep(BatchedLookup *batch, OuterRow *row, TupleTableSlot *slot)
{
	bool shouldfree;
	MinimalTuple tuple = ExecFetchSlotMinimalTuple(slot, &shouldfree);
	FoundRow *found = MemoryContextAlloc(batch->memory, FOUND_ROW_HEADER + tuple->t_len);

	found->next = NULL;
	memcpy(FOUND_TUPLE(found), tuple, tuple->t_len);
	if (row->first == NULL)
		row->first = found;
	else
		row->last->next = found;
	row->last = found;
	if (shouldfree)
		pfree(tuple);
}

/* Does the inner row match the row whose turn it is? */
static bool
matches(BatchedLookup *batch, OuterRow *row, TupleTableSlot *slot)
{
	NestLoopState *loop = batch->loop;
	ExprContext *econtext = loop->js.ps.ps_ExprContext;

	ResetExprContext(econtext);
	econtext->ecxt_outertuple = row->slot;
	econtext->ecxt_innertuple = slot;
	if (!ExecQual(loop->js.joinqual, econtext))
	{
		InstrCountFiltered1(loop, 1);
		return false;
	}
	row->matched = true;
	return true;
}

/* The shard's rows for a row of the batch; false: what was found takes too much memory.
 */
static bool
look_up_row(BatchedLookup *batch, PlanState *shard, OuterRow *row, int64 *count)
{
	bool anti = batch->loop->js.jointype == JOIN_ANTI;

	CHECK_FOR_INTERRUPTS();
	set_params(batch, row);
	UpdateChangedParamSet(shard, batch->params);
	if (shard->chgParam == NULL)
		ExecReScan(shard);
	while (!row->settled)
	{
		TupleTableSlot *slot = ExecProcNode(shard);

		if (TupIsNull(slot))
			break;
		++*count;
		if (!matches(batch, row, slot))
			continue;
		row->settled = anti || batch->loop->js.single_match;
		if (anti)
			break;
		keep(batch, row, slot);
		if (MemoryContextMemAllocated(batch->memory, false) > (Size) work_mem * 1024)
			return false;
	}
	return true;
}

static bool
look_up_in_shard(BatchedLookup *batch, PlanState *shard, int64 *count)
{
	UpdateChangedParamSet(shard, batch->shards->ps.chgParam);
	for (int i = batch->at; i < batch->end; i++)
	{
		OuterRow *row = batch->order[i];

		if (!row->settled && !look_up_row(batch, shard, row, count))
			return false;
	}
	return true;
}

static int
compare_rows(const void *left, const void *right, void *context)
{
	const OuterRow *a = *(OuterRow *const *) left;
	const OuterRow *b = *(OuterRow *const *) right;

	return ApplySortComparator(a->value, a->isnull, b->value, b->isnull, context);
}

/* Puts the rows from `at` to `end` into the order in which they are looked up. */
static void
order_rows(BatchedLookup *batch)
{
	for (int i = batch->at; i < batch->end; i++)
	{
		OuterRow *row = &batch->rows[i];

		*row = (OuterRow){.slot = row->slot};
		row->value = slot_getattr(row->slot, batch->column, &row->isnull);
		batch->order[i] = row;
	}
	if (batch->sort != NULL)
		qsort_arg(batch->order + batch->at, batch->end - batch->at, sizeof(OuterRow *),
				  compare_rows, batch->sort);
}

/* The rows from `at` to `end` in all shards. */
static bool
look_up_batch(BatchedLookup *batch)
{
	Instrumentation *instrument = batch->shards->ps.instrument;
	bool fits = true;
	int64 count = 0;

	MemoryContextReset(batch->memory);
	order_rows(batch);
	if (instrument != NULL)
	{
		InstrEndLoop(instrument);
		InstrStartNode(instrument);
	}
	for (int i = 0; i < batch->shards->as_nplans && fits; i++)
		fits = look_up_in_shard(batch, batch->shards->appendplans[i], &count);
	if (instrument != NULL)
	{
		InstrStopNode(instrument, count);
		InstrEndLoop(instrument);
		instrument->nloops += batch->end - batch->at - 1;
	}
	return fits;
}

/* The row at `at` by itself. */
static void
look_up_through(BatchedLookup *batch)
{
	PlanState *shards = &batch->shards->ps;
	OuterRow *row = &batch->rows[batch->at];

	*row = (OuterRow){.slot = row->slot};
	set_params(batch, row);
	shards->chgParam = bms_add_members(shards->chgParam, batch->params);
	ExecReScan(shards);
	batch->through = true;
}

/* As many rows of the batch as possible, from `at` on. */
static void
look_up(BatchedLookup *batch)
{
	batch->through = false;
	batch->end = batch->count;
	while (batch->end - batch->at > 1)
	{
		if (look_up_batch(batch))
			return;
		batch->end -= (batch->end - batch->at) / 2;
		batch->max = batch->end - batch->at;
	}
	look_up_through(batch);
}

/* ------------------------------------------------------------------------------------
 * The rows.
 */

static TupleTableSlot *
slot_like(BatchedLookup *batch, PlanState *ps, const TupleTableSlotOps *ops)
{
	MemoryContext old = MemoryContextSwitchTo(batch->css.ss.ps.state->es_query_cxt);
	TupleTableSlot *slot =
		ExecInitExtraTupleSlot(batch->css.ss.ps.state, ExecGetResultType(ps), ops);

	MemoryContextSwitchTo(old);
	return slot;
}

/* A slot of the outer plan's kind, as the nested loop's expressions expect it. */
static TupleTableSlot *
slot_of_row(BatchedLookup *batch, int number)
{
	PlanState *outer = outerPlanState(batch->loop);
	OuterRow *row = &batch->rows[number];

	if (row->slot == NULL)
		row->slot = slot_like(batch, outer, ExecGetResultSlotOps(outer, NULL));
	return row->slot;
}

static void
make_room(BatchedLookup *batch, int size)
{
	if (size <= batch->room)
		return;
	batch->rows = repalloc(batch->rows, sizeof(OuterRow) * size);
	batch->order = repalloc(batch->order, sizeof(OuterRow *) * size);
	memset(batch->rows + batch->room, 0, sizeof(OuterRow) * (size - batch->room));
	batch->room = size;
}

static void
fill(BatchedLookup *batch)
{
	int size = Min(Max(batch->seen / batch->share, 1), batch->max);

	make_room(batch, size);
	batch->count = 0;
	while (batch->count < size && !batch->ended)
	{
		TupleTableSlot *row = ExecProcNode(outerPlanState(batch->loop));

		batch->ended = TupIsNull(row);
		if (batch->ended)
			break;
		ExecCopySlot(slot_of_row(batch, batch->count), row);
		/* Rather the row than its page. */
		ExecMaterializeSlot(batch->rows[batch->count++].slot);
	}
	batch->seen += batch->count;
}

/* The next row's turn; false: there is none. */
static bool
next_row(BatchedLookup *batch)
{
	batch->at++;
	if (batch->at >= batch->count)
	{
		fill(batch);
		batch->at = batch->end = 0;
		if (batch->count == 0)
			return false;
	}
	if (batch->at >= batch->end)
		look_up(batch);
	return true;
}

/* The next match of the row whose turn it is; NULL: no more. */
static TupleTableSlot *
next_match(BatchedLookup *batch, OuterRow *row)
{
	FoundRow *found = row->first;

	while (batch->through && !row->settled)
	{
		TupleTableSlot *slot = ExecProcNode(&batch->shards->ps);

		if (TupIsNull(slot))
			return NULL;
		if (!matches(batch, row, slot))
			continue;
		row->settled =
			batch->loop->js.jointype == JOIN_ANTI || batch->loop->js.single_match;
		return batch->loop->js.jointype == JOIN_ANTI ? NULL : slot;
	}
	if (found == NULL)
		return NULL;
	row->first = found->next;
	return ExecStoreMinimalTuple(FOUND_TUPLE(found), batch->found_slot, false);
}

/* What the nested loop would give next. */
static TupleTableSlot *
next_joined(BatchedLookup *batch)
{
	JoinState *join = &batch->loop->js;
	ExprContext *econtext = join->ps.ps_ExprContext;

	for (;;)
	{
		TupleTableSlot *inner;
		OuterRow *row;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		if (!batch->active && !next_row(batch))
			return NULL;
		batch->active = true;
		row = &batch->rows[batch->at];
		inner = next_match(batch, row);
		if (inner == NULL)
		{
			batch->active = false;
			if (row->matched ||
				(join->jointype != JOIN_LEFT && join->jointype != JOIN_ANTI))
				continue;
			inner = batch->loop->nl_NullInnerTupleSlot;
		}
		econtext->ecxt_outertuple = row->slot;
		econtext->ecxt_innertuple = inner;
		if (ExecQual(join->ps.qual, econtext))
			return ExecProject(join->ps.ps_ProjInfo);
		InstrCountFiltered2(batch->loop, 1);
	}
}

static TupleTableSlot *
next_counted(BatchedLookup *batch)
{
	Instrumentation *instrument = batch->loop->js.ps.instrument;
	TupleTableSlot *slot;

	if (instrument != NULL)
		InstrStartNode(instrument);
	slot = next_joined(batch);
	if (instrument != NULL)
		InstrStopNode(instrument, TupIsNull(slot) ? 0 : 1);
	return slot;
}

/* ------------------------------------------------------------------------------------
 * The node.
 */

static void
start_anew(BatchedLookup *batch)
{
	batch->seen = 0;
	batch->count = batch->at = batch->end = 0;
	batch->active = batch->ended = false;
}

static void
begin_order(BatchedLookup *batch)
{
	NestLoop *plan = (NestLoop *) batch->loop->js.ps.plan;
	const Var *value = linitial_node(NestLoopParam, plan->nestParams)->paramval;
	Oid less = lookup_type_cache(value->vartype, TYPECACHE_LT_OPR)->lt_opr;

	batch->column = value->varattno;
	if (!OidIsValid(less))
		return;
	batch->sort = palloc0(sizeof(SortSupportData));
	batch->sort->ssup_cxt = CurrentMemoryContext;
	batch->sort->ssup_collation = value->varcollid;
	PrepareSortSupportFromOrderingOp(less, batch->sort);
}

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	BatchedLookup *batch = (BatchedLookup *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	PlanState *child = ExecInitNode(linitial(plan->custom_plans), estate, eflags);
	PlanState *outer;

	node->custom_ps = list_make1(child);
	/*
	 * A condition without columns may stand above it, columns above the Append, and of
	 * partitions it may read those alone that a row's values choose. The child gives rows
	 * that it has computed, as this node is expected to, in any case.
	 */
	if (!IsA(child, NestLoopState) || ((NestLoop *) child->plan)->nestParams == NIL ||
		!IsA(innerPlanState(child), AppendState) ||
		((AppendState *) innerPlanState(child))->as_prune_state != NULL)
		return;
	batch->loop = (NestLoopState *) child;
	batch->shards = (AppendState *) innerPlanState(child);
	foreach_ptr (NestLoopParam, param, ((NestLoop *) child->plan)->nestParams)
		batch->params = bms_add_member(batch->params, param->paramno);
	begin_order(batch);
	outer = outerPlanState(child);
	batch->max = Min(MAX_BATCH, (Size) work_mem * 1024 / Max(outer->plan->plan_width, 1));
	batch->max = Max(batch->max, 1);
	batch->share =
		IsParallelWorker() || estate->es_plannedstmt->parallelModeNeeded ? 4 : 1;
	batch->room = 1;
	batch->rows = palloc0(sizeof(OuterRow));
	batch->order = palloc(sizeof(OuterRow *));
	batch->memory = AllocSetContextCreate(
		CurrentMemoryContext, "rows of a batch of lookups", ALLOCSET_DEFAULT_SIZES);
	batch->found_slot = slot_like(batch, &batch->shards->ps, &TTSOpsMinimalTuple);
	start_anew(batch);
}

static TupleTableSlot *
exec(CustomScanState *node)
{
	BatchedLookup *batch = (BatchedLookup *) node;

	ResetExprContext(node->ss.ps.ps_ExprContext);
	return row_projected(node, batch->loop != NULL
								   ? next_counted(batch)
								   : ExecProcNode(linitial(node->custom_ps)));
}

static void
rescan(CustomScanState *node)
{
	BatchedLookup *batch = (BatchedLookup *) node;
	PlanState *child = linitial(node->custom_ps);

	UpdateChangedParamSet(child, node->ss.ps.chgParam);
	ExecReScan(child);
	if (batch->loop != NULL)
		start_anew(batch);
}

static void
end(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Citus Batched Lookups",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
};

void
batched_lookup_register(void)
{
	plan_register_kind(PLAN_BATCHED_LOOKUP, sizeof(BatchedLookup), &exec_methods);
}
