/*
 * triggers.c: the plan node "Citus Triggers": a change whose triggers fire in the
 * client's backend.
 *
 * Below it is PostgreSQL's own ModifyTable on the shell. It fires the triggers: those of
 * the statement, those for each row, with transition tables and all. To have it hand over
 * the rows, it is given the shell as a foreign table: a copy of the relation's descriptor
 * of that kind, with functions of ours, stands in the statement's list of open relations
 * as long as the node is there. Then AFTER triggers get their rows from a tuplestore of
 * PostgreSQL's, not from a heap, where there are none.
 *
 * PostgreSQL defers no triggers of foreign tables. Where a table has deferrable ones, or
 * the change is a step of a statement, its AFTER ROW triggers go into the queue as those
 * of an ordinary table, by a second copy of the descriptor, with rows that are kept until
 * then (kept_rows.c).
 *
 * Of a partitioned table PostgreSQL is shown each partition so, and "Citus Read First"
 * says which of them a row is in: its own triggers fire. An INSERT finds the partitions
 * by PostgreSQL's routing, of which each is shown when the first row for it is read. An
 * UPDATE that moves a row to another partition fires those of a DELETE here and of an
 * INSERT there, as it does between PostgreSQL's own.
 *
 * Each row is changed by a run of a plan (TriggeredChange), with the row's columns for
 * parameters, as a statement that a function would run.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "pando/compat/executor.h"
#include "pando/executor/actions_elsewhere.h"
#include "pando/executor/triggers.h"
#include "pando/executor/triggers_scan.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

/* ------------------------------------------------------------------------------------
 * What PostgreSQL calls for each row.
 */

/* A trigger may have changed what the row's partition was chosen by. */
static void
check_partition(ResultRelInfo *relinfo, EState *estate, TupleTableSlot *row)
{
	if (relinfo->ri_RelationDesc->rd_rel->relispartition &&
		relinfo->ri_TrigDesc != NULL && relinfo->ri_TrigDesc->trig_insert_before_row)
		(void) ExecPartitionCheck(relinfo, row, estate, true);
}

/*
 * A row that leaves its partition has been deleted there, and a trigger of the one where
 * it would come has given it up. It is old, and there is no new one.
 */
static void
given_up(TriggersScan *scan, EState *estate, ResultRelInfo *from)
{
	if (triggers_give_up_row(scan, from) == 0)
		triggers_refuse_changed_row("deleted");
	triggers_queue_delete(from, estate);
	ItemPointerSetInvalid(&scan->old_tuple.t_self);
	if (scan->capture != NULL && scan->capture->tcs_update_old_table)
		ExecARUpdateTriggers(estate, from, NULL, NULL, NULL, &scan->old_tuple, NULL, NIL,
							 scan->capture, false);
}

/*
 * The row goes to another partition: fires what comes before; returns the row as it comes
 * there. NULL: a trigger won't have it deleted, or it is deleted and a trigger won't have
 * it there.
 */
static TupleTableSlot *
fire_before_move(TriggersScan *scan, EState *estate, ResultRelInfo *from,
				 ResultRelInfo *to, TupleTableSlot *of_table)
{
	TupleTableSlot *row = triggers_coming_row(to, estate, of_table);
	const TriggerDesc *leaving = from->ri_TrigDesc;
	const TriggerDesc *coming = to->ri_TrigDesc;
	const TupleConstr *constraints = RelationGetDescr(scan->shell)->constr;

	if (leaving != NULL && leaving->trig_delete_before_row &&
		!compat_before_delete(estate, &scan->modify->mt_epqstate, from, &scan->old_tuple))
		return NULL;
	if (coming != NULL && coming->trig_insert_before_row &&
		!ExecBRInsertTriggers(estate, to, row))
	{
		given_up(scan, estate, from);
		return NULL;
	}
	if (constraints != NULL && constraints->has_generated_stored)
		ExecComputeStoredGenerated(to, estate, row, CMD_INSERT);
	check_partition(to, estate, row);
	return row;
}

static TupleTableSlot *
insert_row(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *row,
		   TupleTableSlot *input)
{
	TriggersScan *scan = triggers_scan(relinfo);

	check_partition(relinfo, estate, row);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		triggers_set_columns(scan->params, 0,
							 triggers_as_of_table(triggers_target(relinfo), row));
		if (triggers_change_row(scan, relinfo, scan->change.plan) != 0)
			break;
		if (scan->change.find == NULL)
			return NULL;
		/* It may be gone again. */
		if (triggers_conflict_find(scan))
			return triggers_conflict_update(scan, estate, relinfo, row);
	}
	if (scan->change.find != NULL)
		(void) triggers_conflict_noted(
			scan, triggers_as_of_table(triggers_target(relinfo), row), HASH_ENTER);
	triggers_queue_insert(relinfo, estate, row);
	return row;
}

static TupleTableSlot *
update_row(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *row,
		   TupleTableSlot *input)
{
	const Target *target = triggers_target(relinfo);
	TriggersScan *scan = target->scan;
	ResultRelInfo *leaf = relinfo;
	TupleTableSlot *of_table = triggers_as_of_table(target, row);
	TupleTableSlot *coming = row;

	triggers_take_old_row(target, input);
	if (scan->routing != NULL)
		leaf = triggers_leaf_of_row(scan, of_table);
	if (leaf != relinfo)
	{
		coming = fire_before_move(scan, estate, relinfo, leaf, of_table);
		if (coming == NULL)
			return NULL;
		of_table = triggers_as_of_table(triggers_target(leaf), coming);
	}
	if (triggers_update_row(scan, relinfo, of_table, scan->change.plan) == 0)
		triggers_refuse_changed_row("updated");
	if (leaf == relinfo)
	{
		triggers_queue_update(relinfo, estate, row, NULL);
		return row;
	}
	triggers_queue_delete(relinfo, estate);
	triggers_queue_insert(leaf, estate, coming);
	return triggers_coming_row(relinfo, estate, of_table);
}

static TupleTableSlot *
delete_row(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *row,
		   TupleTableSlot *input)
{
	TriggersScan *scan = triggers_scan(relinfo);

	triggers_take_old_row(triggers_target(relinfo), input);
	if (triggers_change_row(scan, relinfo, scan->change.plan) == 0)
		triggers_refuse_changed_row("deleted");
	triggers_queue_delete(relinfo, estate);
	ItemPointerSetInvalid(&scan->old_tuple.t_self);
	ExecForceStoreHeapTuple(&scan->old_tuple, row, false);
	ExecMaterializeSlot(row);
	return row;
}

static FdwRoutine *
routine(void)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->ExecForeignInsert = insert_row;
	routine->ExecForeignUpdate = update_row;
	routine->ExecForeignDelete = delete_row;
	return routine;
}

/* ------------------------------------------------------------------------------------
 * The node "Citus Triggers".
 */

static void
set_table(TriggersScan *scan)
{
	const DistTable *table = dist_table_require(RelationGetRelid(scan->shell));

	scan->key = table->key;
	scan->acts_here = table->acts_here;
	scan->keys_wait = table->refers_to_itself;
}

static void
show_targets(TriggersScan *scan, const ModifyTable *plan, EState *estate)
{
	bool partitions = plan->rootRelation != 0;

	scan->shell = ExecGetRangeTableRelation(
		estate, partitions ? plan->rootRelation : linitial_int(plan->resultRelations));
	set_table(scan);
	foreach_int(position, plan->resultRelations)(void)
		triggers_show_as_foreign(scan, estate, position, partitions);
	if (partitions)
		(void) triggers_show_as_foreign(scan, estate, plan->rootRelation, false);
}

static void
set_routing(TriggersScan *scan, EState *estate)
{
	if (scan->shell->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return;
	scan->routing = ExecSetupPartitionTupleRouting(estate, scan->shell);
	/* It would have it already if it knew that the table is partitioned. */
	if (scan->modify->operation == CMD_INSERT)
		scan->modify->mt_partition_tuple_routing = scan->routing;
}

static void
triggers_begin(CustomScanState *node, EState *estate, int eflags)
{
	TriggersScan *scan = (TriggersScan *) node;
	const CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	int number = 0;
	TupleDesc desc;

	scan->change = triggered_change_unpack(plan->custom_private);
	scan->routine = routine();
	show_targets(scan, castNode(ModifyTable, outerPlan(plan)), estate);
	desc = RelationGetDescr(scan->shell);
	scan->params = triggers_make_params(
		desc, scan->change.found_params != NIL ? estate->es_param_list_info : NULL);
	scan->old = ExecInitExtraTupleSlot(estate, desc, &TTSOpsHeapTuple);
	scan->new = ExecInitExtraTupleSlot(estate, desc, &TTSOpsVirtual);
	outerPlanState(node) = ExecInitNode(outerPlan(plan), estate, eflags);
	scan->modify = castNode(ModifyTableState, outerPlanState(node));
	scan->capture = scan->modify->mt_transition_capture;
	if (scan->change.found_reads != NIL)
		scan->written = written_watch(scan->change.found_reads);
	for (int i = 0; i < scan->modify->mt_nrels; i++)
		scan->modify->resultRelInfo[i].ri_FdwState = list_nth(scan->targets, number++);
	set_routing(scan, estate);
	((ReadFirstScan *) outerPlanState(scan->modify))->triggers = scan;
}

/* All rows have been changed: now those that are left have to refer to what is there. */
static void
check_waiting_keys(const TriggersScan *scan)
{
	List *nodes = NIL;

	if (!scan->keys_wait ||
		(scan->modify->operation == CMD_INSERT && scan->change.find == NULL))
		return;
	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
	{
		if (xact_wrote_on(node->group))
			nodes = lappend(nodes, unconstify(DistNode *, node));
	}
	check_keys_here();
	xact_run_on_nodes(nodes, "SELECT pando.check_keys()");
}

static TupleTableSlot *
hand_on(CustomScanState *node)
{
	TupleTableSlot *row = ExecProcNode(outerPlanState(node));

	if (TupIsNull(row))
		check_waiting_keys((TriggersScan *) node);
	return row;
}

/* PostgreSQL closes what it opened. */
static void
triggers_end(CustomScanState *node)
{
	TriggersScan *scan = (TriggersScan *) node;

	foreach_ptr (ResultRelInfo, leaf, scan->routed)
		leaf->ri_RelationDesc = triggers_target(leaf)->shell;
	if (scan->routing != NULL && scan->modify->mt_partition_tuple_routing == NULL)
		ExecCleanupTupleRouting(scan->modify, scan->routing);
	ExecEndNode(outerPlanState(node));
	foreach_ptr (Target, target, scan->targets)
		node->ss.ps.state->es_relations[target->position - 1] = target->shell;
}

static void
rescan_refused(CustomScanState *node)
{
	elog(ERROR, "a change can't be run again");
}

static const CustomExecMethods triggers_methods = {
	.CustomName = "Citus Triggers",
	.BeginCustomScan = triggers_begin,
	.ExecCustomScan = hand_on,
	.EndCustomScan = triggers_end,
	.ReScanCustomScan = rescan_refused,
};

/* ------------------------------------------------------------------------------------
 * The node "Citus Read First".
 */

static void
read_begin(CustomScanState *node, EState *estate, int eflags)
{
	ReadFirstScan *scan = (ReadFirstScan *) node;

	outerPlanState(node) = ExecInitNode(outerPlan(node->ss.ps.plan), estate, eflags);
	scan->row = ExecInitExtraTupleSlot(estate, ExecGetResultType(outerPlanState(node)),
									   &TTSOpsMinimalTuple);
	scan->handed =
		ExecInitExtraTupleSlot(estate, ExecGetResultType(&node->ss.ps), &TTSOpsVirtual);
	/* They are those of others, and not all of one kind. */
	node->ss.ps.resultopsfixed = false;
}

static void
read_all(ReadFirstScan *scan)
{
	PlanState *source = outerPlanState(scan);
	MemoryContext old = MemoryContextSwitchTo(scan->css.ss.ps.state->es_query_cxt);
	TupleTableSlot *row;

	scan->rows = tuplestore_begin_heap(false, false, work_mem);
	MemoryContextSwitchTo(old);
	for (row = ExecProcNode(source); !TupIsNull(row); row = ExecProcNode(source))
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_puttupleslot(scan->rows, row);
	}
}

/* With all of its columns, which are read as those of a virtual one. */
static TupleTableSlot *
whole(TupleTableSlot *row)
{
	if (!TupIsNull(row))
		slot_getallattrs(row);
	return row;
}

static TupleTableSlot *
next_row(ReadFirstScan *scan)
{
	const CustomScan *plan = (CustomScan *) scan->css.ss.ps.plan;

	if (!boolVal(linitial(plan->custom_private)))
		return whole(ExecProcNode(outerPlanState(scan)));
	if (scan->rows == NULL)
		read_all(scan);
	(void) tuplestore_gettupleslot(scan->rows, true, false, scan->row);
	return whole(scan->row);
}

/* What an INSERT's rows were sorted by comes last, and is left out. */
static TupleTableSlot *
wanted_columns(ReadFirstScan *scan, TupleTableSlot *row)
{
	TupleTableSlot *wanted = scan->handed;
	int natts = wanted->tts_tupleDescriptor->natts;

	if (row->tts_tupleDescriptor->natts == natts)
		return row;
	ExecClearTuple(wanted);
	memcpy(wanted->tts_values, row->tts_values, natts * sizeof(Datum));
	memcpy(wanted->tts_isnull, row->tts_isnull, natts * sizeof(bool));
	return ExecStoreVirtualTuple(wanted);
}

static TupleTableSlot *
read_next(CustomScanState *node)
{
	ReadFirstScan *scan = (ReadFirstScan *) node;
	TriggersScan *triggers = scan->triggers;
	TupleTableSlot *row;

	if (triggers->changed != NULL)
		triggers->changed->ri_FdwRoutine =
			triggers->changed->ri_RelationDesc->rd_fdwroutine;
	triggers->modify->mt_transition_capture = triggers->capture;
	row = next_row(scan);
	if (!TupIsNull(row))
		row = wanted_columns(scan, row);
	if (TupIsNull(row) || triggers->routing == NULL)
		return row;
	if (triggers->modify->operation != CMD_INSERT)
		return triggers_with_leaf(triggers, row, scan->handed);
	triggers_show_leaf_of_new_row(triggers, row);
	return row;
}

static void
read_end(CustomScanState *node)
{
	ReadFirstScan *scan = (ReadFirstScan *) node;

	ExecEndNode(outerPlanState(node));
	if (scan->rows != NULL)
		tuplestore_end(scan->rows);
}

static const CustomExecMethods read_methods = {
	.CustomName = "Citus Read First",
	.BeginCustomScan = read_begin,
	.ExecCustomScan = read_next,
	.EndCustomScan = read_end,
	.ReScanCustomScan = rescan_refused,
};

void
triggers_init(void)
{
	plan_register_kind(PLAN_TRIGGERS, sizeof(TriggersScan), &triggers_methods);
	plan_register_kind(PLAN_READ_FIRST, sizeof(ReadFirstScan), &read_methods);
}
