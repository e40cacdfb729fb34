/*
 * triggers_conflict.c: the row that is in the way of an INSERT ... ON CONFLICT DO UPDATE
 * with triggers: it is found and locked by a plan, and updated with the triggers of an
 * UPDATE.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "pando/compat/executor.h"
#include "pando/executor/triggers_scan.h"

/* Values that are equal have the same hash; those of a type without hashes are known by
 * their text. */
static uint64
hash_of_value(Form_pg_attribute attr, Datum value)
{
	TypeCacheEntry *type =
		lookup_type_cache(attr->atttypid, TYPECACHE_HASH_EXTENDED_PROC_FINFO);
	Oid output;
	bool varlena;
	char *text;
	uint64 hash;

	if (OidIsValid(type->hash_extended_proc_finfo.fn_oid))
		return DatumGetUInt64(FunctionCall2Coll(&type->hash_extended_proc_finfo,
												attr->attcollation, value,
												Int64GetDatum(0)));
	getTypeOutputInfo(attr->atttypid, &output, &varlena);
	text = OidOutputFunctionCall(output, value);
	hash = DatumGetUInt64(hash_any_extended((unsigned char *) text, strlen(text), 0));
	pfree(text);
	return hash;
}

/* A row is known by the columns that the conflict is about. */
bool
triggers_conflict_noted(TriggersScan *scan, TupleTableSlot *row, HASHACTION action)
{
	uint64 hash = 0;
	bool found;

	foreach_int(number, scan->change.conflict_columns)
	{
		Form_pg_attribute attr = TupleDescAttr(row->tts_tupleDescriptor, number - 1);
		bool isnull;
		Datum value = slot_getattr(row, number, &isnull);

		hash = hash_combine64(hash, isnull ? 0 : hash_of_value(attr, value));
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

/* A column of the row that was found becomes a parameter of its change. */
static void
set_found_param(TriggersScan *scan, TupleTableSlot *row, AttrNumber column, int number)
{
	Form_pg_attribute attr;
	Datum value;
	bool isnull;

	if (column == 0)
		return;
	attr = TupleDescAttr(row->tts_tupleDescriptor, column - 1);
	value = slot_getattr(row, column, &isnull);
	triggers_set_param(scan->params, number,
					   isnull ? value : datumCopy(value, attr->attbyval, attr->attlen),
					   isnull);
}

/* What was computed with the row that was found, for ModifyTable. */
static void
set_computed(const TriggersScan *scan, TupleTableSlot *row)
{
	ParamExecData *params = scan->css.ss.ps.state->es_param_exec_vals;
	AttrNumber column = 0;

	foreach_int(number, scan->change.found_params)
	{
		Form_pg_attribute attr = TupleDescAttr(row->tts_tupleDescriptor, column++);
		bool isnull;
		Datum value = slot_getattr(row, column, &isnull);

		params[number] = (ParamExecData){
			.value = isnull ? value : datumCopy(value, attr->attbyval, attr->attlen),
			.isnull = isnull};
	}
}

/* What is computed with the row may not see what this statement has done. */
static void
require_unchanged(const TriggersScan *scan)
{
	Oid changed = scan->written != NULL ? written_table(scan->written) : InvalidOid;

	if (OidIsValid(changed))
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("this ON CONFLICT DO UPDATE is not supported yet for table \"%s\", "
					"whose rows are changed one by one",
					RelationGetRelationName(scan->shell)),
			 errdetail(
				 "It has a subquery that reads table \"%s\", or one that follows it "
				 "by a foreign key, and the statement may have changed it.",
				 get_rel_name(changed)),
			 errhint("Insert the rows in statements of their own.")));
}

/* Reads and locks the row that is in the way; false: there is none any more. */
bool
triggers_conflict_find(TriggersScan *scan)
{
	EState *estate = scan->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	DestReceiver *dest = CreateDestReceiver(DestTuplestore);
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);
	int natts = RelationGetDescr(scan->shell)->natts;
	AttrNumber whole = list_length(scan->change.found_params) + 1;
	TupleTableSlot *row;
	bool found;
	bool isnull;

	require_unchanged(scan);
	SetTuplestoreDestReceiverParams(dest, rows, CurrentMemoryContext, false, NULL, NULL);
	(void) triggers_run_plan(scan, scan->change.find, dest);
	row = MakeSingleTupleTableSlot(
		ExecCleanTypeFromTL(scan->change.find->planTree->targetlist),
		&TTSOpsMinimalTuple);
	found = tuplestore_gettupleslot(rows, true, true, row);
	if (found)
	{
		HeapTuple tuple = &scan->old_tuple;

		tuple->t_data = DatumGetHeapTupleHeaderCopy(slot_getattr(row, whole, &isnull));
		tuple->t_len = HeapTupleHeaderGetDatumLength(tuple->t_data);
		ItemPointerSetInvalid(&tuple->t_self);
		set_computed(scan, row);
		set_found_param(scan, row, scan->change.found_ctid, 2 * natts + 1);
		set_found_param(scan, row, scan->change.found_place, 2 * natts + 2);
	}
	ExecDropSingleTupleTableSlot(row);
	tuplestore_end(rows);
	MemoryContextSwitchTo(old);
	return found;
}

/* The row that was found, as one of the table and as one of the target's. */
static void
take_found_row(TriggersScan *scan, EState *estate, const ResultRelInfo *relinfo)
{
	const TupleConversionMap *map = triggers_target(relinfo)->from_table;
	HeapTuple of_table = &scan->old_tuple;

	if (map != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));

		of_table = heap_copytuple(&scan->old_tuple);
		scan->old_tuple = *execute_attr_map_tuple(of_table, (TupleConversionMap *) map);
		MemoryContextSwitchTo(old);
	}
	ExecForceStoreHeapTuple(of_table, scan->old, false);
	ExecForceStoreHeapTuple(&scan->old_tuple, relinfo->ri_onConflict->oc_Existing, false);
}

static void
require_same_partition(ResultRelInfo *relinfo, EState *estate, TupleTableSlot *row)
{
	if (relinfo->ri_RelationDesc->rd_rel->relispartition &&
		!ExecPartitionCheck(relinfo, row, estate, false))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("invalid ON UPDATE specification"),
						errdetail("The result tuple would appear in a different "
								  "partition than the original tuple.")));
}

/* Its transition tables get rows as they are in the partition. */
static void
refuse_capture_of_other_shape(const Target *target, const TransitionCaptureState *capture)
{
	if (capture != NULL && target->to_table != NULL)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("this ON CONFLICT DO UPDATE is not supported yet for table \"%s\", "
					"whose rows are changed one by one",
					RelationGetRelationName(target->scan->shell)),
			 errdetail("It has triggers with transition tables, and its partition \"%s\" "
					   "has its columns in another order.",
					   RelationGetRelationName(target->shell))));
}

TupleTableSlot *
triggers_conflict_update(TriggersScan *scan, EState *estate, ResultRelInfo *relinfo,
						 TupleTableSlot *excluded)
{
	OnConflictSetState *conflict = relinfo->ri_onConflict;
	ExprContext *context = scan->modify->ps.ps_ExprContext;
	const TriggerDesc *triggers = relinfo->ri_TrigDesc;
	const TupleConstr *constraints = RelationGetDescr(scan->shell)->constr;
	TransitionCaptureState *capture = scan->modify->mt_oc_transition_capture;
	TupleTableSlot *row = conflict->oc_ProjSlot;
	TupleTableSlot *of_table;

	refuse_capture_of_other_shape(triggers_target(relinfo), capture);
	take_found_row(scan, estate, relinfo);
	if (triggers_conflict_noted(scan, scan->old, HASH_FIND))
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
		!compat_before_update(estate, &scan->modify->mt_epqstate, relinfo,
							  &scan->old_tuple, row))
		return NULL;
	if (constraints != NULL && constraints->has_generated_stored)
		ExecComputeStoredGenerated(relinfo, estate, row, CMD_UPDATE);
	require_same_partition(relinfo, estate, row);
	of_table = triggers_as_of_table(triggers_target(relinfo), row);
	triggers_set_columns(scan->params, RelationGetDescr(scan->shell)->natts, scan->old);
	if (triggers_update_row(scan, relinfo, of_table, scan->change.update) == 0)
		triggers_refuse_changed_row("updated");
	(void) triggers_conflict_noted(scan, of_table, HASH_ENTER);
	triggers_queue_update(relinfo, estate, row, capture);
	scan->modify->mt_transition_capture = NULL;
	return row;
}
