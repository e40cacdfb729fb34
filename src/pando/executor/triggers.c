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
#include "access/tupconvert.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "executor/tstoreReceiver.h"
#include "common/hashfn.h"
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

typedef struct TriggersScan TriggersScan;

/* A relation that ModifyTable changes: the table, or one of its partitions. */
typedef struct Target
{
	TriggersScan *scan;
	Index position; /* in the range table, or 0 */
	Relation shell;
	ResultRelInfo *queue; /* for triggers that may be deferred; NULL: there are none */
	TupleConversionMap *to_table; /* of a partition with columns in another order */
	TupleConversionMap *from_table;
	TupleTableSlot *coming; /* a row that moves to the partition */
} Target;

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
	TupleTableSlot *handed; /* a row that isn't handed on as it was read */
	TriggersScan *triggers;
} ReadFirstScan;

struct TriggersScan
{
	CustomScanState css;
	TriggeredChange change;
	Relation shell;
	ModifyTableState *modify;
	List *targets; /* Target *, of the plan */
	List *routed;  /* ResultRelInfo *, of partitions that were shown later */
	AttrNumber key;
	ParamListInfo params;
	TupleTableSlot *old;			/* the row before the change, as one of the table, */
	HeapTupleData old_tuple;		/* and as one of the target */
	TupleTableSlot *new;			/* the row after it, as one of the table */
	PartitionTupleRouting *routing; /* of a partitioned table */
	ResultRelInfo *changed; /* which isn't shown as foreign until the next row is read */
	TransitionCaptureState *capture; /* ModifyTable's, but for a row that is updated by
									  * ON CONFLICT */
	HTAB *made; /* of ON CONFLICT: hashes of the rows that this statement has made */
};

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

/* Runs one of the plans for a row; returns how many rows it has changed. It sees what all
 * before it has done. */
static uint64
run_plan(const TriggersScan *scan, PlannedStmt *plan, DestReceiver *dest)
{
	EState *estate = scan->css.ss.ps.state;
	QueryDesc *query;
	uint64 processed;

	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	query = CreateQueryDesc(plan, estate->es_sourceText, GetActiveSnapshot(),
							InvalidSnapshot, dest, scan->params, NULL, 0);
	ExecutorStart(query, 0);
	ExecutorRun(query, ForwardScanDirection, 0, true);
	processed = query->estate->es_processed;
	ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
	PopActiveSnapshot();
	CommandCounterIncrement();
	return processed;
}

/* The transition tables come next. */
static uint64
change_row(TriggersScan *scan, ResultRelInfo *relinfo, PlannedStmt *plan)
{
	uint64 processed = run_plan(scan, plan, None_Receiver);

	if (scan->capture != NULL)
	{
		relinfo->ri_FdwRoutine = NULL;
		scan->changed = relinfo;
	}
	return processed;
}

static Target *
target_of(const ResultRelInfo *relinfo)
{
	return relinfo->ri_FdwState;
}

static TriggersScan *
scan_of(const ResultRelInfo *relinfo)
{
	return target_of(relinfo)->scan;
}

static void
read_old_row(TriggersScan *scan, const TupleConversionMap *map, TupleTableSlot *input)
{
	AttrNumber column = scan->modify->resultRelInfo->ri_RowIdAttNo;
	bool isnull;
	Datum row = ExecGetJunkAttribute(input, column, &isnull);
	HeapTuple tuple = &scan->old_tuple;

	tuple->t_data = DatumGetHeapTupleHeader(row);
	tuple->t_len = HeapTupleHeaderGetDatumLength(tuple->t_data);
	ItemPointerSetInvalid(&tuple->t_self);
	if (map == NULL)
		ExecForceStoreHeapTuple(tuple, scan->old, false);
	else
		ExecForceStoreHeapTuple(execute_attr_map_tuple(tuple, (TupleConversionMap *) map),
								scan->old, true);
}

/* A target's row as one of the table. */
static TupleTableSlot *
as_of_table(const Target *target, TupleTableSlot *row)
{
	if (target->to_table == NULL)
		return row;
	return execute_attr_map_slot(target->to_table->attrMap, row, target->scan->new);
}

/* The old row, and which it is, from what ModifyTable reads. */
static void
take_old_row(const Target *target, TupleTableSlot *input)
{
	TriggersScan *scan = target->scan;
	int natts = RelationGetDescr(scan->shell)->natts;
	bool isnull;

	read_old_row(scan, target->to_table, input);
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

static ItemPointerData
keep_slot(TupleTableSlot *row)
{
	bool own;
	HeapTuple tuple = ExecFetchSlotHeapTuple(row, false, &own);
	ItemPointerData place = kept_row_put(tuple, row->tts_tupleDescriptor);

	if (own)
		heap_freetuple(tuple);
	return place;
}

static void
queue_insert(const ResultRelInfo *relinfo, EState *estate, TupleTableSlot *row)
{
	const Target *target = target_of(relinfo);

	if (target->queue == NULL || !target->queue->ri_TrigDesc ||
		!target->queue->ri_TrigDesc->trig_insert_after_row)
		return;
	kept_rows_hold(RelationGetRelid(target->shell));
	row->tts_tid = keep_slot(row);
	ExecARInsertTriggers(estate, target->queue, row, NIL, NULL);
	ItemPointerSetInvalid(&row->tts_tid);
}

static void
queue_update(const ResultRelInfo *relinfo, EState *estate, TupleTableSlot *row,
			 TransitionCaptureState *capture)
{
	const Target *target = target_of(relinfo);
	TriggersScan *scan = target->scan;

	if (target->queue == NULL || !target->queue->ri_TrigDesc ||
		(!target->queue->ri_TrigDesc->trig_update_after_row && capture == NULL))
		return;
	kept_rows_hold(RelationGetRelid(target->shell));
	scan->old_tuple.t_self =
		kept_row_put(&scan->old_tuple, RelationGetDescr(target->shell));
	row->tts_tid = keep_slot(row);
	ExecARUpdateTriggers(estate, target->queue, NULL, NULL, NULL, &scan->old_tuple, row,
						 NIL, capture, false);
	ItemPointerSetInvalid(&row->tts_tid);
}

static void
queue_delete(const ResultRelInfo *relinfo, EState *estate)
{
	const Target *target = target_of(relinfo);
	TriggersScan *scan = target->scan;

	if (target->queue == NULL || !target->queue->ri_TrigDesc ||
		!target->queue->ri_TrigDesc->trig_delete_after_row)
		return;
	kept_rows_hold(RelationGetRelid(target->shell));
	scan->old_tuple.t_self =
		kept_row_put(&scan->old_tuple, RelationGetDescr(target->shell));
	ExecARDeleteTriggers(estate, target->queue, NULL, &scan->old_tuple, NULL, false);
}

/* ------------------------------------------------------------------------------------
 * Partitions.
 */

static void show_leaf(TriggersScan *scan, ResultRelInfo *leaf);

static ResultRelInfo *
leaf_of_row(TriggersScan *scan, TupleTableSlot *row)
{
	ModifyTableState *modify = scan->modify;
	ResultRelInfo *leaf;

	leaf = ExecFindPartition(modify, modify->rootResultRelInfo, scan->routing, row,
							 modify->ps.state);
	if (leaf->ri_FdwState == NULL)
		show_leaf(scan, leaf);
	return leaf;
}

/* The partition that the row will be in is shown to ModifyTable, which looks for it. */
static void
show_leaf_of_new_row(TriggersScan *scan, TupleTableSlot *input)
{
	int natts = RelationGetDescr(scan->shell)->natts;
	TupleTableSlot *row = ExecClearTuple(scan->new);

	memcpy(row->tts_values, input->tts_values, natts * sizeof(Datum));
	memcpy(row->tts_isnull, input->tts_isnull, natts * sizeof(bool));
	(void) leaf_of_row(scan, ExecStoreVirtualTuple(row));
}

/* What is read, with the partition that the row is in, and the row as one of its. */
static TupleTableSlot *
with_leaf(TriggersScan *scan, TupleTableSlot *input, TupleTableSlot *result)
{
	AttrNumber column = scan->change.leaf - 1;
	AttrNumber row = scan->modify->resultRelInfo->ri_RowIdAttNo - 1;
	ResultRelInfo *leaf;
	Target *target;

	read_old_row(scan, NULL, input);
	leaf = leaf_of_row(scan, scan->old);
	target = target_of(leaf);
	ExecCopySlot(result, input);
	result->tts_values[column] =
		ObjectIdGetDatum(RelationGetRelid(leaf->ri_RelationDesc));
	result->tts_isnull[column] = false;
	if (target->from_table != NULL)
	{
		MemoryContext old =
			MemoryContextSwitchTo(GetPerTupleMemoryContext(scan->css.ss.ps.state));
		HeapTuple tuple = execute_attr_map_tuple(&scan->old_tuple, target->from_table);

		result->tts_values[row] =
			heap_copy_tuple_as_datum(tuple, RelationGetDescr(target->shell));
		MemoryContextSwitchTo(old);
	}
	return result;
}

/* The row as one of the partition that it moves to; it becomes the table's again. */
static TupleTableSlot *
coming_row(ResultRelInfo *to, EState *estate, TupleTableSlot *of_table)
{
	Target *target = target_of(to);

	if (target->coming == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

		target->coming = ExecInitExtraTupleSlot(estate, RelationGetDescr(target->shell),
												&TTSOpsVirtual);
		MemoryContextSwitchTo(old);
	}
	if (target->from_table == NULL)
		return ExecCopySlot(target->coming, of_table);
	(void) execute_attr_map_slot(target->from_table->attrMap, of_table, target->coming);
	ExecMaterializeSlot(target->coming);
	return target->coming;
}

/*
 * The row goes to another partition: fires what comes before; returns the row as it comes
 * there. NULL: a trigger won't have it deleted.
 */
static TupleTableSlot *
fire_before_move(TriggersScan *scan, EState *estate, ResultRelInfo *from,
				 ResultRelInfo *to, TupleTableSlot *of_table)
{
	TupleTableSlot *row = coming_row(to, estate, of_table);
	const TriggerDesc *leaving = from->ri_TrigDesc;
	const TriggerDesc *coming = to->ri_TrigDesc;
	const TupleConstr *constraints = RelationGetDescr(scan->shell)->constr;

	if (leaving != NULL && leaving->trig_delete_before_row &&
		!ExecBRDeleteTriggers(estate, &scan->modify->mt_epqstate, from, NULL,
							  &scan->old_tuple, NULL))
		return NULL;
	if (coming != NULL && coming->trig_insert_before_row &&
		!ExecBRInsertTriggers(estate, to, row))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a trigger of partition \"%s\" that gives up a row which moves "
						"there is not supported yet",
						RelationGetRelationName(target_of(to)->shell))));
	if (constraints != NULL && constraints->has_generated_stored)
		ExecComputeStoredGenerated(to, estate, row, CMD_INSERT);
	return row;
}

/* ------------------------------------------------------------------------------------
 * ON CONFLICT DO UPDATE.
 */

/* A row is known by the columns that the conflict is about, as text. */
static bool
is_made_here(TriggersScan *scan, TupleTableSlot *row, HASHACTION action)
{
	uint64 hash = 0;
	bool found;

	foreach_int(number, scan->change.conflict_columns)
	{
		Form_pg_attribute attr = TupleDescAttr(row->tts_tupleDescriptor, number - 1);
		bool isnull;
		Datum value = slot_getattr(row, number, &isnull);
		Oid output;
		bool varlena;
		char *text;

		if (isnull)
			continue;
		getTypeOutputInfo(attr->atttypid, &output, &varlena);
		text = OidOutputFunctionCall(output, value);
		hash = hash_combine64(hash, DatumGetUInt64(hash_any_extended(
										(unsigned char *) text, strlen(text), number)));
		pfree(text);
	}
	if (scan->made == NULL)
	{
		HASHCTL control = {.keysize = sizeof(uint64),
						   .entrysize = sizeof(uint64),
						   .hcxt = scan->css.ss.ps.state->es_query_cxt};

		scan->made = hash_create("rows of ON CONFLICT", 256, &control,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	(void) hash_search(scan->made, &hash, action, &found);
	return found;
}

/* Reads and locks the row that is in the way; false: there is none any more. */
static bool
find_conflicting_row(TriggersScan *scan)
{
	EState *estate = scan->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	DestReceiver *dest = CreateDestReceiver(DestTuplestore);
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);
	int natts = RelationGetDescr(scan->shell)->natts;
	TupleTableSlot *row;
	bool found;
	bool isnull;

	SetTuplestoreDestReceiverParams(dest, rows, CurrentMemoryContext, false, NULL, NULL);
	(void) run_plan(scan, scan->change.find, dest);
	row = MakeSingleTupleTableSlot(
		ExecCleanTypeFromTL(scan->change.find->planTree->targetlist),
		&TTSOpsMinimalTuple);
	found = tuplestore_gettupleslot(rows, true, true, row);
	if (found)
	{
		HeapTuple tuple = &scan->old_tuple;

		tuple->t_data = DatumGetHeapTupleHeaderCopy(slot_getattr(row, 1, &isnull));
		tuple->t_len = HeapTupleHeaderGetDatumLength(tuple->t_data);
		ItemPointerSetInvalid(&tuple->t_self);
		if (scan->change.found_ctid != 0)
		{
			Datum ctid = slot_getattr(row, scan->change.found_ctid, &isnull);

			set_param(scan->params, 2 * natts + 1,
					  datumCopy(ctid, false, sizeof(ItemPointerData)), isnull);
		}
	}
	ExecDropSingleTupleTableSlot(row);
	tuplestore_end(rows);
	MemoryContextSwitchTo(old);
	return found;
}

static TupleTableSlot *
update_conflicting_row(TriggersScan *scan, EState *estate, ResultRelInfo *relinfo,
					   TupleTableSlot *excluded)
{
	OnConflictSetState *conflict = relinfo->ri_onConflict;
	ExprContext *context = scan->modify->ps.ps_ExprContext;
	const TriggerDesc *triggers = relinfo->ri_TrigDesc;
	const TupleConstr *constraints = RelationGetDescr(scan->shell)->constr;
	TupleTableSlot *row = conflict->oc_ProjSlot;

	ExecForceStoreHeapTuple(&scan->old_tuple, scan->old, false);
	ExecForceStoreHeapTuple(&scan->old_tuple, conflict->oc_Existing, false);
	if (is_made_here(scan, scan->old, HASH_FIND))
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("%s command cannot affect row a second time",
						"ON CONFLICT DO UPDATE"),
				 errhint("Ensure that no rows proposed for insertion within the same "
						 "command have duplicate constrained values.")));
	context->ecxt_scantuple = conflict->oc_Existing;
	context->ecxt_innertuple = excluded;
	context->ecxt_outertuple = NULL;
	if (!ExecQual(conflict->oc_WhereClause, context))
		return NULL;
	ExecProject(conflict->oc_ProjInfo);
	if (triggers != NULL && triggers->trig_update_before_row &&
		!ExecBRUpdateTriggers(estate, &scan->modify->mt_epqstate, relinfo, NULL,
							  &scan->old_tuple, row, NULL))
		return NULL;
	if (constraints != NULL && constraints->has_generated_stored)
		ExecComputeStoredGenerated(relinfo, estate, row, CMD_UPDATE);
	set_columns(scan->params, RelationGetDescr(scan->shell)->natts, scan->old);
	set_columns(scan->params, 0, row);
	refuse_other_key(scan, row);
	if (change_row(scan, relinfo, scan->change.update) == 0)
		refuse_changed_row("updated");
	(void) is_made_here(scan, row, HASH_ENTER);
	queue_update(relinfo, estate, row, scan->modify->mt_oc_transition_capture);
	scan->modify->mt_transition_capture = NULL;
	return row;
}

/* ------------------------------------------------------------------------------------
 * What PostgreSQL calls for each row.
 */

static TupleTableSlot *
insert_row(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *row,
		   TupleTableSlot *input)
{
	TriggersScan *scan = scan_of(relinfo);

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		set_columns(scan->params, 0, as_of_table(target_of(relinfo), row));
		if (change_row(scan, relinfo, scan->change.plan) != 0)
			break;
		if (scan->change.find == NULL)
			return NULL;
		/* It may be gone again. */
		if (find_conflicting_row(scan))
			return update_conflicting_row(scan, estate, relinfo, row);
	}
	if (scan->change.find != NULL)
		(void) is_made_here(scan, row, HASH_ENTER);
	queue_insert(relinfo, estate, row);
	return row;
}

static TupleTableSlot *
update_row(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *row,
		   TupleTableSlot *input)
{
	const Target *target = target_of(relinfo);
	TriggersScan *scan = target->scan;
	ResultRelInfo *leaf = relinfo;
	TupleTableSlot *of_table = as_of_table(target, row);
	TupleTableSlot *coming = row;

	take_old_row(target, input);
	if (scan->routing != NULL)
		leaf = leaf_of_row(scan, of_table);
	if (leaf != relinfo)
	{
		coming = fire_before_move(scan, estate, relinfo, leaf, of_table);
		if (coming == NULL)
			return NULL;
		of_table = as_of_table(target_of(leaf), coming);
	}
	set_columns(scan->params, 0, of_table);
	refuse_other_key(scan, of_table);
	if (change_row(scan, relinfo, scan->change.plan) == 0)
		refuse_changed_row("updated");
	if (leaf == relinfo)
	{
		queue_update(relinfo, estate, row, NULL);
		return row;
	}
	queue_delete(relinfo, estate);
	queue_insert(leaf, estate, coming);
	return coming_row(relinfo, estate, of_table);
}

static TupleTableSlot *
delete_row(EState *estate, ResultRelInfo *relinfo, TupleTableSlot *row,
		   TupleTableSlot *input)
{
	TriggersScan *scan = scan_of(relinfo);

	take_old_row(target_of(relinfo), input);
	if (change_row(scan, relinfo, scan->change.plan) == 0)
		refuse_changed_row("deleted");
	queue_delete(relinfo, estate);
	ItemPointerSetInvalid(&scan->old_tuple.t_self);
	ExecForceStoreHeapTuple(&scan->old_tuple, row, false);
	ExecMaterializeSlot(row);
	return row;
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
make_queue(const Target *target, EState *estate)
{
	Relation copy = copy_of(target->shell);
	ResultRelInfo *queue = makeNode(ResultRelInfo);

	copy->rd_tableam = kept_rows_routine();
	copy->trigdesc = triggers_that_fire_here(target->shell, true, true);
	InitResultRelInfo(queue, copy, target->position, NULL, estate->es_instrument);
	return queue;
}

static Target *
make_target(TriggersScan *scan, Index position, Relation shell)
{
	Target *target = palloc0(sizeof(Target));
	TupleDesc of_table = RelationGetDescr(scan->shell);

	target->scan = scan;
	target->position = position;
	target->shell = shell;
	target->to_table = convert_tuples_by_name(RelationGetDescr(shell), of_table);
	if (target->to_table != NULL)
		target->from_table = convert_tuples_by_name(of_table, RelationGetDescr(shell));
	return target;
}

static void
show_leaf(TriggersScan *scan, ResultRelInfo *leaf)
{
	EState *estate = scan->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Target *target = make_target(scan, 0, leaf->ri_RelationDesc);

	target->queue = make_queue(target, estate);
	leaf->ri_RelationDesc = foreign_copy(target->shell, true);
	leaf->ri_TrigDesc = leaf->ri_RelationDesc->trigdesc;
	leaf->ri_FdwRoutine = leaf->ri_RelationDesc->rd_fdwroutine;
	leaf->ri_FdwState = target;
	scan->routed = lappend(scan->routed, leaf);
	MemoryContextSwitchTo(old);
}

/* In a step of a statement triggers fire later, from the statement's queue; a row that is
 * in the way of an INSERT fires others than ModifyTable would. */
static bool
fires_later(const EState *estate, const Relation shell, bool changes_conflicts)
{
	const TriggerDesc *triggers = shell->trigdesc;

	if (!changes_conflicts && (estate->es_top_eflags & EXEC_FLAG_SKIP_TRIGGERS) == 0)
		return false;
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (TRIGGER_FOR_ROW(trigger->tgtype) && TRIGGER_FOR_AFTER(trigger->tgtype) &&
			!goes_into_queue(trigger))
			ereport(
				ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this change of table \"%s\" is not supported yet",
						RelationGetRelationName(shell)),
				 errdetail("Its trigger \"%s\" fires for each row and has "
						   "transition tables, and the statement has several changes.",
						   trigger->tgname)));
	}
	return true;
}

/* PostgreSQL finds triggers' rows of partitions in their own descriptors alone. */
static Target *
show_as_foreign(TriggersScan *scan, EState *estate, Index position, bool partitions)
{
	Relation shell = ExecGetRangeTableRelation(estate, position);
	Target *target = make_target(scan, position, shell);
	bool has_queue;

	has_queue = partitions ||
				fires_later(estate, target->shell, scan->change.find != NULL) ||
				may_defer(target->shell);
	estate->es_relations[position - 1] = foreign_copy(target->shell, has_queue);
	if (has_queue)
		target->queue = make_queue(target, estate);
	scan->targets = lappend(scan->targets, target);
	return target;
}

/* ------------------------------------------------------------------------------------
 * The node "Citus Triggers".
 */

static void
show_targets(TriggersScan *scan, const ModifyTable *plan, EState *estate)
{
	bool partitions = plan->rootRelation != 0;

	scan->shell = ExecGetRangeTableRelation(
		estate, partitions ? plan->rootRelation : linitial_int(plan->resultRelations));
	foreach_int(position, plan->resultRelations)(void)
		show_as_foreign(scan, estate, position, partitions);
	if (partitions)
		(void) show_as_foreign(scan, estate, plan->rootRelation, false);
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
	show_targets(scan, castNode(ModifyTable, outerPlan(plan)), estate);
	desc = RelationGetDescr(scan->shell);
	scan->key = dist_table_require(RelationGetRelid(scan->shell))->key;
	scan->params = make_params(desc);
	scan->old = ExecInitExtraTupleSlot(estate, desc, &TTSOpsHeapTuple);
	scan->new = ExecInitExtraTupleSlot(estate, desc, &TTSOpsVirtual);
	outerPlanState(node) = ExecInitNode(outerPlan(plan), estate, eflags);
	scan->modify = castNode(ModifyTableState, outerPlanState(node));
	scan->capture = scan->modify->mt_transition_capture;
	for (int i = 0; i < scan->modify->mt_nrels; i++)
		scan->modify->resultRelInfo[i].ri_FdwState = list_nth(scan->targets, number++);
	set_routing(scan, estate);
	((ReadFirstScan *) outerPlanState(scan->modify))->triggers = scan;
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

	foreach_ptr (ResultRelInfo, leaf, scan->routed)
		leaf->ri_RelationDesc = target_of(leaf)->shell;
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
		return with_leaf(triggers, row, scan->handed);
	show_leaf_of_new_row(triggers, row);
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
