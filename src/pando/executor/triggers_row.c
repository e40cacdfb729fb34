/*
 * triggers_row.c: the change of one row whose triggers fire here.
 *
 * It is a run of a plan (TriggeredChange), with the row's columns for parameters, as a
 * statement that a function would run.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pando/executor/triggers_scan.h"

void
triggers_set_param(ParamListInfo params, int number, Datum value, bool isnull)
{
	params->params[number - 1].value = value;
	params->params[number - 1].isnull = isnull;
}

void
triggers_set_columns(ParamListInfo params, int before, TupleTableSlot *row)
{
	slot_getallattrs(row);
	for (int i = 0; i < row->tts_tupleDescriptor->natts; i++)
		triggers_set_param(params, before + i + 1, row->tts_values[i],
						   row->tts_isnull[i]);
}

ParamListInfo
triggers_make_params(TupleDesc desc, ParamListInfo client)
{
	int natts = desc->natts;
	int own = TRIGGERED_PARAMS(natts);
	ParamListInfo params = makeParamList(own + (client != NULL ? client->numParams : 0));

	for (int i = 0; i < natts; i++)
		params->params[i].ptype = params->params[natts + i].ptype =
			TupleDescAttr(desc, i)->atttypid;
	params->params[2 * natts].ptype = TIDOID;
	params->params[2 * natts + 1].ptype = TEXTOID;
	for (int i = 0; i < own; i++)
	{
		params->params[i].isnull = true;
		params->params[i].pflags = 0;
	}
	for (int i = own; i < params->numParams; i++)
	{
		ParamExternData fetched;

		params->params[i] =
			client->paramFetch != NULL
				? *client->paramFetch(client, i - own + 1, false, &fetched)
				: client->params[i - own];
	}
	return params;
}

/* Runs one of the plans for a row; returns how many rows it has changed. It sees what all
 * before it has done. */
uint64
triggers_run_plan(const TriggersScan *scan, PlannedStmt *plan, DestReceiver *dest)
{
	EState *estate = scan->css.ss.ps.state;
	QueryDesc *query;
	uint64 processed;

	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	query = CreateQueryDesc(plan, estate->es_sourceText, GetActiveSnapshot(),
							InvalidSnapshot, dest, scan->params, estate->es_queryEnv, 0);
	if (scan->written != NULL)
		written_start_own(scan->written, plan);
	ExecutorStart(query, 0);
	ExecutorRun(query, ForwardScanDirection, 0, true);
	processed = query->estate->es_processed;
	ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
	PopActiveSnapshot();
	CommandCounterIncrement();
	if (scan->written != NULL && plan->commandType != CMD_SELECT && processed > 0)
		written_note(scan->written, RelationGetRelid(scan->shell));
	return processed;
}

/* The transition tables come next. */
uint64
triggers_change_row(TriggersScan *scan, ResultRelInfo *relinfo, PlannedStmt *plan)
{
	uint64 processed = triggers_run_plan(scan, plan, None_Receiver);

	if (scan->capture != NULL)
	{
		relinfo->ri_FdwRoutine = NULL;
		scan->changed = relinfo;
	}
	return processed;
}

void
triggers_read_old_row(TriggersScan *scan, const TupleConversionMap *map,
					  TupleTableSlot *input)
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
TupleTableSlot *
triggers_as_of_table(const Target *target, TupleTableSlot *row)
{
	if (target->to_table == NULL)
		return row;
	return execute_attr_map_slot(target->to_table->attrMap, row, target->scan->new);
}

/* The old row, and which it is, from what ModifyTable reads. */
void
triggers_take_old_row(const Target *target, TupleTableSlot *input)
{
	TriggersScan *scan = target->scan;
	int natts = RelationGetDescr(scan->shell)->natts;
	bool isnull;

	triggers_read_old_row(scan, target->to_table, input);
	triggers_set_columns(scan->params, natts, scan->old);
	if (scan->change.ctid != 0)
	{
		Datum ctid = ExecGetJunkAttribute(input, scan->change.ctid, &isnull);

		triggers_set_param(scan->params, 2 * natts + 1, ctid, isnull);
	}
	if (scan->change.place != 0)
	{
		Datum place = ExecGetJunkAttribute(input, scan->change.place, &isnull);

		triggers_set_param(scan->params, 2 * natts + 2, place, isnull);
	}
}

/* The row was locked: only this transaction can have changed it since. */
void
triggers_refuse_changed_row(const char *done)
{
	ereport(ERROR, (errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
					errmsg("tuple to be %s was already modified by an operation "
						   "triggered by the current command",
						   done),
					errhint("Consider using an AFTER trigger instead of a BEFORE trigger "
							"to propagate changes to other rows.")));
}

static bool
has_other_key(const TriggersScan *scan, TupleTableSlot *row)
{
	AttrNumber key = scan->key;
	Form_pg_attribute attr;

	if (key == InvalidAttrNumber)
		return false;
	attr = TupleDescAttr(row->tts_tupleDescriptor, key - 1);
	if (row->tts_isnull[key - 1] != scan->old->tts_isnull[key - 1])
		return true;
	return !row->tts_isnull[key - 1] &&
		   !datum_image_eq(row->tts_values[key - 1], scan->old->tts_values[key - 1],
						   attr->attbyval, attr->attlen);
}

/* What few rows need is planned when the first one does. */
static PlannedStmt *
plan_once(TriggersScan *scan, PlannedStmt **plan, Query *change)
{
	if (*plan == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(scan->css.ss.ps.state->es_query_cxt);

		*plan = triggered_change_planner(copyObject(change));
		MemoryContextSwitchTo(old);
	}
	return *plan;
}

uint64
triggers_update_row(TriggersScan *scan, ResultRelInfo *relinfo, TupleTableSlot *of_table,
					PlannedStmt *plan)
{
	triggers_set_columns(scan->params, 0, of_table);
	if (has_other_key(scan, of_table))
		plan = plan_once(scan, &scan->move, scan->change.move);
	return triggers_change_row(scan, relinfo, plan);
}

uint64
triggers_give_up_row(TriggersScan *scan, ResultRelInfo *relinfo)
{
	return triggers_change_row(scan, relinfo,
							   plan_once(scan, &scan->gone, scan->change.gone));
}
