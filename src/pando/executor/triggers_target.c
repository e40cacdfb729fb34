/*
 * triggers_target.c: what "Citus Triggers" shows to ModifyTable: shells as foreign
 * tables.
 *
 * A target is a copy of a shell's descriptor of that kind. It knows no indexes, and its
 * triggers are those that are to fire here: those that the shards have are disabled in
 * it, and foreign keys' own, but for actions that are done here. Its queue is a second
 * copy, of an ordinary table, whose triggers PostgreSQL fires later, with rows that are
 * kept until then (kept_rows.c).
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"

#include "pando/executor/kept_rows.h"
#include "pando/executor/triggers_scan.h"
#include "pando/metadata/firing.h"
#include "pando/metadata/table.h"

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

void
triggers_queue_insert(const ResultRelInfo *relinfo, EState *estate, TupleTableSlot *row)
{
	const Target *target = triggers_target(relinfo);

	if (target->queue == NULL || !target->queue->ri_TrigDesc ||
		!target->queue->ri_TrigDesc->trig_insert_after_row)
		return;
	kept_rows_hold(RelationGetRelid(target->shell));
	row->tts_tid = keep_slot(row);
	ExecARInsertTriggers(estate, target->queue, row, NIL, NULL);
	ItemPointerSetInvalid(&row->tts_tid);
}

void
triggers_queue_update(const ResultRelInfo *relinfo, EState *estate, TupleTableSlot *row,
					  TransitionCaptureState *capture)
{
	const Target *target = triggers_target(relinfo);
	TriggersScan *scan = target->scan;
	const TriggerDesc *triggers =
		target->queue != NULL ? target->queue->ri_TrigDesc : NULL;

	/* A partition may have none of its own when its parent has transition tables. */
	if (capture == NULL && (triggers == NULL || !triggers->trig_update_after_row))
		return;
	kept_rows_hold(RelationGetRelid(target->shell));
	scan->old_tuple.t_self =
		kept_row_put(&scan->old_tuple, RelationGetDescr(target->shell));
	row->tts_tid = keep_slot(row);
	ExecARUpdateTriggers(estate, target->queue, NULL, NULL, NULL, &scan->old_tuple, row,
						 NIL, capture, false);
	ItemPointerSetInvalid(&row->tts_tid);
}

void
triggers_queue_delete(const ResultRelInfo *relinfo, EState *estate)
{
	const Target *target = triggers_target(relinfo);
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
 * The shell as a foreign table.
 */

static bool
is_for_here(const TriggersScan *scan, const Trigger *trigger)
{
	if (!trigger->tgisinternal)
		return !trigger_is_of_shards(trigger->tgoid);
	return trigger_is_action(trigger) && ((TRIGGER_FOR_UPDATE(trigger->tgtype) &&
										   (scan->acts_here & (1 << CMD_UPDATE)) != 0) ||
										  (TRIGGER_FOR_DELETE(trigger->tgtype) &&
										   (scan->acts_here & (1 << CMD_DELETE)) != 0));
}

static bool
may_defer(const TriggersScan *scan, const Relation shell)
{
	/* A copy: what is looked up may have the relation read anew. */
	const TriggerDesc *triggers = CopyTriggerDesc(shell->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (triggers->triggers[i].tgdeferrable &&
			is_for_here(scan, &triggers->triggers[i]))
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
triggers_that_fire_here(const TriggersScan *scan, const Relation shell, bool has_queue,
						bool of_queue)
{
	TriggerDesc *triggers = CopyTriggerDesc(shell->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger *trigger = &triggers->triggers[i];

		if (!is_for_here(scan, trigger) ||
			(has_queue && goes_into_queue(trigger)) != of_queue)
			trigger->tgenabled = TRIGGER_DISABLED;
	}
	return triggers;
}

/* What the descriptor has in memory of its own, and ModifyTable reads, is copied: it is
 * freed when the relation is read anew. */
static Relation
copy_of(Relation shell)
{
	Relation copy = palloc(sizeof(RelationData));
	List *bounds = shell->rd_rel->relispartition ? RelationGetPartitionQual(shell) : NIL;

	*copy = *shell;
	copy->rd_partcheck = bounds;
	copy->rd_rel = palloc(CLASS_TUPLE_SIZE);
	memcpy(copy->rd_rel, shell->rd_rel, CLASS_TUPLE_SIZE);
	copy->rd_rel->relhasindex = false;
	return copy;
}

static Relation
foreign_copy(const TriggersScan *scan, Relation shell, bool has_queue)
{
	Relation copy = copy_of(shell);

	copy->rd_rel->relkind = RELKIND_FOREIGN_TABLE;
	/* Triggers that are not deferred find their rows there, too. */
	copy->rd_tableam = has_queue ? kept_rows_routine() : NULL;
	copy->rd_fdwroutine = scan->routine;
	copy->trigdesc = triggers_that_fire_here(scan, shell, has_queue, false);
	return copy;
}

static ResultRelInfo *
make_queue(const Target *target, EState *estate)
{
	Relation copy = copy_of(target->shell);
	ResultRelInfo *queue = makeNode(ResultRelInfo);

	copy->rd_tableam = kept_rows_routine();
	copy->trigdesc = triggers_that_fire_here(target->scan, target->shell, true, true);
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
	leaf->ri_RelationDesc = foreign_copy(scan, target->shell, true);
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

/* PostgreSQL finds triggers' rows of partitions in their own descriptors alone. Of
 * several actions on a foreign table it would get those wrong that come after one without
 * effect. */
Target *
triggers_show_as_foreign(TriggersScan *scan, EState *estate, Index position,
						 bool partitions)
{
	Relation shell = ExecGetRangeTableRelation(estate, position);
	Target *target = make_target(scan, position, shell);
	bool has_queue;

	has_queue = partitions ||
				fires_later(estate, target->shell, scan->change.find != NULL) ||
				scan->acts_here != 0 || may_defer(scan, target->shell);
	estate->es_relations[position - 1] = foreign_copy(scan, target->shell, has_queue);
	if (has_queue)
		target->queue = make_queue(target, estate);
	scan->targets = lappend(scan->targets, target);
	return target;
}

/* ------------------------------------------------------------------------------------
 * Partitions.
 */

ResultRelInfo *
triggers_leaf_of_row(TriggersScan *scan, TupleTableSlot *row)
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
void
triggers_show_leaf_of_new_row(TriggersScan *scan, TupleTableSlot *input)
{
	int natts = RelationGetDescr(scan->shell)->natts;
	TupleTableSlot *row = ExecClearTuple(scan->new);

	memcpy(row->tts_values, input->tts_values, natts * sizeof(Datum));
	memcpy(row->tts_isnull, input->tts_isnull, natts * sizeof(bool));
	(void) triggers_leaf_of_row(scan, ExecStoreVirtualTuple(row));
}

/* What is read, with the partition that the row is in, and the row as one of its. */
TupleTableSlot *
triggers_with_leaf(TriggersScan *scan, TupleTableSlot *input, TupleTableSlot *result)
{
	AttrNumber column = scan->change.leaf - 1;
	AttrNumber row = scan->modify->resultRelInfo->ri_RowIdAttNo - 1;
	ResultRelInfo *leaf;
	Target *target;

	triggers_read_old_row(scan, NULL, input);
	leaf = triggers_leaf_of_row(scan, scan->old);
	target = triggers_target(leaf);
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
TupleTableSlot *
triggers_coming_row(ResultRelInfo *to, EState *estate, TupleTableSlot *of_table)
{
	Target *target = triggers_target(to);

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
