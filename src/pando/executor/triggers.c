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
 * The copy knows no indexes, and its triggers are those that are to fire here: foreign
 * keys' own, and those that the shards have, are disabled in it.
 *
 * PostgreSQL defers no triggers of foreign tables. Where a table has deferrable ones, its
 * AFTER ROW triggers go into the queue as those of an ordinary table, by a second copy of
 * the descriptor, with rows that are kept until then (kept_rows.c).
 *
 * Each row is changed by a run of a plan (TriggeredChange), with the row's columns for
 * parameters, as a statement that a function would run.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"
#include "utils/snapmgr.h"

#include "pando/executor/kept_rows.h"
#include "pando/executor/triggers.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"

/*
 * The node below ModifyTable. PostgreSQL collects no transition tables of foreign tables,
 * which it asks after once a row is changed: until the next one is read the target is not
 * one.
 */
typedef struct ReadFirstScan
{
	CustomScanState css;
	Tuplestorestate *rows; /* NULL: nothing has been read yet */
	TupleTableSlot *row;
	ResultRelInfo *target; /* of a change that collects transition tables, or NULL */
	FdwRoutine *routine;   /* the target's */
} ReadFirstScan;

typedef struct TriggersScan
{
	CustomScanState css;
	TriggeredChange change;
	Relation shell;
	ReadFirstScan *source;
	AttrNumber key;
	ParamListInfo params;
	ResultRelInfo *queue; /* for triggers that may be deferred; NULL: there are none */
	TupleTableSlot *old;  /* the row before the change: */
	HeapTupleData old_tuple;
} TriggersScan;

/* ------------------------------------------------------------------------------------
 * The change of one row.
 */

static void
set_param(ParamListInfo params, int number, Datum value, bool isnull)
{
	params->params[number - 1].value = value;
	params->params[number - 1].isnull = isnull;
}

static void
set_columns(ParamListInfo params, int before, TupleTableSlot *row)
{
	slot_getallattrs(row);
	for (int i = 0; i < row->tts_tupleDescriptor->natts; i++)
		set_param(params, before + i + 1, row->tts_values[i], row->tts_isnull[i]);
}

static ParamListInfo
make_params(TupleDesc desc)
{
	int natts = desc->natts;
	ParamListInfo params = makeParamList(2 * natts + 2);

	for (int i = 0; i < natts; i++)
		params->params[i].ptype = params->params[natts + i].ptype =
			TupleDescAttr(desc, i)->atttypid;
	params->params[2 * natts].ptype = TIDOID;
	params->params[2 * natts + 1].ptype = TEXTOID;
	for (int i = 0; i < 2 * natts + 2; i++)
	{
		params->params[i].isnull = true;
		params->params[i].pflags = 0;
	}
	return params;
}

/* How many rows it has changed. It sees what all before it has done; the transition
 * tables come next. */
static uint64
change_row(TriggersScan *scan)
{
	EState *estate = scan->css.ss.ps.state;
	QueryDesc *query;
	uint64 processed;

	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	query = CreateQueryDesc(scan->change.plan, estate->es_sourceText, GetActiveSnapshot(),
							InvalidSnapshot, None_Receiver, scan->params, NULL, 0);
	ExecutorStart(query, 0);
	ExecutorRun(query, ForwardScanDirection, 0, true);
	processed = query->estate->es_processed;
	ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
	PopActiveSnapshot();
	CommandCounterIncrement();
	if (scan->source->target != NULL)
		scan->source->target->ri_FdwRoutine = NULL;
	return processed;
}

static TriggersScan *
scan_of(const ResultRelInfo *relinfo)
{
	return relinfo->ri_FdwState;
}

/* The old row, and which it is, from what ModifyTable reads. */
static void
take_old_row(TriggersScan *scan, const ResultRelInfo *relinfo, TupleTableSlot *input)
{
	int natts = RelationGetDescr(scan->shell)->natts;
	bool isnull;
	Datum row = ExecGetJunkAttribute(input, relinfo->ri_RowIdAttNo, &isnull);
	HeapTuple tuple = &scan->old_tuple;

	tuple->t_data = DatumGetHeapTupleHeader(row);
	tuple->t_len = HeapTupleHeaderGetDatumLength(tuple->t_data);
	ItemPointerSetInvalid(&tuple->t_self);
	ExecForceStoreHeapTuple(tuple, scan->old, false);
	set_columns(scan->params, natts, scan->old);
	if (scan->change.ctid != 0)
	{
		Datum ctid = ExecGetJunkAttribute(input, scan->change.ctid, &isnull);

		set_param(scan->params, 2 * natts + 1, ctid, isnull);
	}
	if (scan->change.place != 0)
	{
		Datum place = ExecGetJunkAttribute(input, scan->change.place, &isnull);

		set_param(scan->params, 2 * natts + 2, place, isnull);
	}
}

/* The row was locked: only this transaction can have changed it since. */
static void
refuse_changed_row(const char *done)
{
	ereport(ERROR, (errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
					errmsg("tuple to be %s was already modified by an operation "
						   "triggered by the current command",
						   done),
					errhint("Consider using an AFTER trigger instead of a BEFORE trigger "
							"to propagate changes to other rows.")));
}

static void
refuse_other_key(const TriggersScan *scan, TupleTableSlot *row)
{
	Form_pg_attribute attr;
	AttrNumber key = scan->key;

	if (key == InvalidAttrNumber)
		return;
	attr = TupleDescAttr(row->tts_tupleDescriptor, key - 1);
	if (row->tts_isnull[key - 1] == scan->old->tts_isnull[key - 1] &&
		(row->tts_isnull[key - 1] ||
		 datum_image_eq(row->tts_values[key - 1], scan->old->tts_values[key - 1],
						attr->attbyval, attr->attlen)))
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("modifying the distribution column \"%s\" of table \"%s\" in a trigger "
				"is not supported yet",
				NameStr(attr->attname), RelationGetRelationName(scan->shell)),
		 errdetail("The row would move to another shard.")));
}

/* ------------------------------------------------------------------------------------
 * The queue of triggers that may be deferred.
 */

static void
queue_insert(const TriggersScan *scan, EState *estate, TupleTableSlot *row)
{
	if (scan->queue == NULL || !scan->queue->ri_TrigDesc->trig_insert_after_row)
		return;
	kept_rows_hold(RelationGetRelid(scan->shell));
	row->tts_tid = kept_row_put(row);
	ExecARInsertTriggers(estate, scan->queue, row, NIL, NULL);
	ItemPointerSetInvalid(&row->tts_tid);
}

static void
queue_update(TriggersScan *scan, EState *estate, TupleTableSlot *row)
{
	if (scan->queue == NULL || !scan->queue->ri_TrigDesc->trig_update_after_row)
		return;
	kept_rows_hold(RelationGetRelid(scan->shell));
	scan->old_tuple.t_self = kept_row_put(scan->old);
	row->tts_tid = kept_row_put(row);
	ExecARUpdateTriggers(estate, scan->queue, NULL, NULL, NULL, &scan->old_tuple, row,
						 NIL, NULL, false);
	ItemPointerSetInvalid(&row->tts_tid);
}

static void
queue_delete(TriggersScan *scan, EState *estate)
{
	if (scan->queue == NULL || !scan->queue->ri_TrigDesc->trig_delete_after_row)
		return;
	kept_rows_hold(RelationGetRelid(scan->shell));
	scan->old_tuple.t_self = kept_row_put(scan->old);
	ExecARDeleteTriggers(estate, scan->queue, NULL, &scan->old_tuple, NULL, false);
}

/* ------------------------------------------------------------------------------------
 * What PostgreSQL calls for each row.
 */

static TupleTableSlot *
insert_row(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *row,
		   TupleTableSlot *input)
{
	TriggersScan *scan = scan_of(relinfo);

	set_columns(scan->params, 0, row);
	if (change_row(scan) == 0)
		return NULL;
	queue_insert(scan, estate, row);
	return row;
}

static TupleTableSlot *
update_row(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *row,
		   TupleTableSlot *input)
{
	TriggersScan *scan = scan_of(relinfo);

	take_old_row(scan, relinfo, input);
	set_columns(scan->params, 0, row);
	refuse_other_key(scan, row);
	if (change_row(scan) == 0)
		refuse_changed_row("updated");
	queue_update(scan, estate, row);
	return row;
}

static TupleTableSlot *
delete_row(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *row,
		   TupleTableSlot *input)
{
	TriggersScan *scan = scan_of(relinfo);

	take_old_row(scan, relinfo, input);
	if (change_row(scan) == 0)
		refuse_changed_row("deleted");
	queue_delete(scan, estate);
	return ExecCopySlot(row, scan->old);
}

/* ------------------------------------------------------------------------------------
 * The shell as a foreign table.
 */

static FdwRoutine *
routine(void)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->ExecForeignInsert = insert_row;
	routine->ExecForeignUpdate = update_row;
	routine->ExecForeignDelete = delete_row;
	return routine;
}

static bool
is_for_here(const Trigger *trigger)
{
	return !trigger->tgisinternal && !trigger_is_of_shards(trigger->tgoid);
}

static bool
may_defer(const Relation shell)
{
	const TriggerDesc *triggers = shell->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (triggers->triggers[i].tgdeferrable && is_for_here(&triggers->triggers[i]))
			return true;
	}
	return false;
}

/* Those with transition tables can't be deferred; ModifyTable has the tables. */
static bool
goes_into_queue(const Trigger *trigger)
{
	return TRIGGER_FOR_ROW(trigger->tgtype) && TRIGGER_FOR_AFTER(trigger->tgtype) &&
		   trigger->tgoldtable == NULL && trigger->tgnewtable == NULL;
}

/* The triggers of ModifyTable, or of the queue; the others are disabled. */
static TriggerDesc *
triggers_that_fire_here(const Relation shell, bool has_queue, bool of_queue)
{
	TriggerDesc *triggers = CopyTriggerDesc(shell->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger *trigger = &triggers->triggers[i];

		if (!is_for_here(trigger) || (has_queue && goes_into_queue(trigger)) != of_queue)
			trigger->tgenabled = TRIGGER_DISABLED;
	}
	return triggers;
}

static Relation
copy_of(Relation shell)
{
	Relation copy = palloc(sizeof(RelationData));

	/* Kept in the descriptor once it is known. */
	if (shell->rd_rel->relispartition)
		(void) RelationGetPartitionQual(shell);
	*copy = *shell;
	copy->rd_rel = palloc(CLASS_TUPLE_SIZE);
	memcpy(copy->rd_rel, shell->rd_rel, CLASS_TUPLE_SIZE);
	copy->rd_rel->relhasindex = false;
	return copy;
}

static Relation
foreign_copy(Relation shell, bool has_queue)
{
	Relation copy = copy_of(shell);

	copy->rd_rel->relkind = RELKIND_FOREIGN_TABLE;
	/* Triggers that are not deferred find their rows there, too. */
	copy->rd_tableam = has_queue ? kept_rows_routine() : NULL;
	copy->rd_fdwroutine = routine();
	copy->trigdesc = triggers_that_fire_here(shell, has_queue, false);
	return copy;
}

static ResultRelInfo *
make_queue(TriggersScan *scan, EState *estate)
{
	Relation copy = copy_of(scan->shell);
	ResultRelInfo *queue = makeNode(ResultRelInfo);

	copy->rd_tableam = kept_rows_routine();
	copy->trigdesc = triggers_that_fire_here(scan->shell, true, true);
	InitResultRelInfo(queue, copy, scan->change.target, NULL, estate->es_instrument);
	return queue;
}

/* ------------------------------------------------------------------------------------
 * The node "Citus Triggers".
 */

static void
triggers_begin(CustomScanState *node, EState *estate, int eflags)
{
	TriggersScan *scan = (TriggersScan *) node;
	const CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	ModifyTableState *modify;
	TupleDesc desc;
	bool has_queue;

	scan->change = triggered_change_unpack(plan->custom_private);
	scan->shell = ExecGetRangeTableRelation(estate, scan->change.target);
	desc = RelationGetDescr(scan->shell);
	scan->key = dist_table_require(RelationGetRelid(scan->shell))->key;
	scan->params = make_params(desc);
	scan->old = ExecInitExtraTupleSlot(estate, desc, &TTSOpsHeapTuple);
	has_queue = may_defer(scan->shell);
	estate->es_relations[scan->change.target - 1] = foreign_copy(scan->shell, has_queue);
	if (has_queue && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		scan->queue = make_queue(scan, estate);
	outerPlanState(node) = ExecInitNode(outerPlan(plan), estate, eflags);
	modify = castNode(ModifyTableState, outerPlanState(node));
	modify->resultRelInfo->ri_FdwState = scan;
	scan->source = (ReadFirstScan *) outerPlanState(modify);
	if (modify->mt_transition_capture != NULL)
	{
		scan->source->target = modify->resultRelInfo;
		scan->source->routine = modify->resultRelInfo->ri_FdwRoutine;
	}
}

static TupleTableSlot *
hand_on(CustomScanState *node)
{
	return ExecProcNode(outerPlanState(node));
}

/* PostgreSQL closes what it opened. */
static void
triggers_end(CustomScanState *node)
{
	TriggersScan *scan = (TriggersScan *) node;

	ExecEndNode(outerPlanState(node));
	node->ss.ps.state->es_relations[scan->change.target - 1] = scan->shell;
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

/* A custom scan's rows are taken for virtual ones, whose columns are all there. */
static TupleTableSlot *
whole(TupleTableSlot *row)
{
	if (!TupIsNull(row))
		slot_getallattrs(row);
	return row;
}

static TupleTableSlot *
read_next(CustomScanState *node)
{
	ReadFirstScan *scan = (ReadFirstScan *) node;
	const CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	if (scan->target != NULL)
		scan->target->ri_FdwRoutine = scan->routine;
	if (!boolVal(linitial(plan->custom_private)))
		return whole(ExecProcNode(outerPlanState(node)));
	if (scan->rows == NULL)
		read_all(scan);
	(void) tuplestore_gettupleslot(scan->rows, true, false, scan->row);
	return whole(scan->row);
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
