/*
 * actions_elsewhere.c: the plan node "Citus Actions Elsewhere": a change of a shard whose
 * foreign keys' actions are done elsewhere, in the client's backend.
 *
 * The executor has a copy of the shard's triggers for each statement. In this one's copy
 * the triggers that are actions call pando.action_elsewhere(), which keeps the key of the
 * row. When the transaction ends each is checked as by a key without action: is there a
 * row that refers to one that is not there any more? The client's backend has left none,
 * but for those that its snapshot doesn't show or that a trigger keeps, and whoever else
 * says that he does the actions gets no further than that error.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "parser/parse_func.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pando/executor/actions_elsewhere.h"
#include "pando/metadata/firing.h"
#include "pando/plan/fragment.h"

PG_FUNCTION_INFO_V1(action_elsewhere);
PG_FUNCTION_INFO_V1(key_waits);
PG_FUNCTION_INFO_V1(check_waiting_keys);

/* A key that may not be referred to when the transaction ends, or the statement. */
typedef struct ActedKey
{
	SubTransactionId subxact;
	bool waits; /* for the end of the statement */
	Oid relid;
	Trigger trigger; /* without what it points to */
	TriggerEvent event;
	HeapTuple row; /* the key's columns; others are NULL */
} ActedKey;

static List *acted_keys = NIL;

/* ------------------------------------------------------------------------------------
 * Keys are kept.
 */

/* Row of the referenced table with the columns of the key alone. */
static HeapTuple
row_of_key(TupleTableSlot *row, Oid constraint)
{
	TupleDesc desc = row->tts_tupleDescriptor;
	Bitmapset *columns = key_referenced_columns(constraint);
	bool *isnull = palloc(desc->natts * sizeof(bool));

	slot_getallattrs(row);
	for (int i = 0; i < desc->natts; i++)
		isnull[i] = row->tts_isnull[i] || !bms_is_member(i + 1, columns);
	return heap_form_tuple(desc, row->tts_values, isnull);
}

static Datum
keep_key(FunctionCallInfo fcinfo, bool waits)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	MemoryContext old;
	ActedKey *key;
	HeapTuple row;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_AFTER(data->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
		!OidIsValid(data->tg_trigger->tgconstraint) || !data->tg_trigger->tgisinternal)
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("function pando.%s() serves the triggers of foreign keys "
							   "alone",
							   get_func_name(fcinfo->flinfo->fn_oid))));
	if (TRIGGER_FIRED_BY_UPDATE(data->tg_event) &&
		!RI_FKey_pk_upd_check_required(data->tg_trigger, data->tg_relation,
									   data->tg_trigslot, data->tg_newslot))
		return PointerGetDatum(NULL);
	row = row_of_key(data->tg_trigslot, data->tg_trigger->tgconstraint);
	old = MemoryContextSwitchTo(TopTransactionContext);
	key = palloc0(sizeof(ActedKey));
	key->subxact = GetCurrentSubTransactionId();
	key->waits = waits;
	key->relid = RelationGetRelid(data->tg_relation);
	key->event = data->tg_event;
	key->trigger.tgoid = data->tg_trigger->tgoid;
	key->trigger.tgconstraint = data->tg_trigger->tgconstraint;
	key->trigger.tgconstrrelid = data->tg_trigger->tgconstrrelid;
	key->trigger.tgconstrindid = data->tg_trigger->tgconstrindid;
	key->row = heap_copytuple(row);
	acted_keys = lappend(acted_keys, key);
	MemoryContextSwitchTo(old);
	return PointerGetDatum(NULL);
}

/* The trigger functions of what was an action, and of what was a check. */
Datum
action_elsewhere(PG_FUNCTION_ARGS)
{
	return keep_key(fcinfo, false);
}

Datum
key_waits(PG_FUNCTION_ARGS)
{
	return keep_key(fcinfo, true);
}

/* ------------------------------------------------------------------------------------
 * Keys are checked.
 */

/* PostgreSQL's own check of a key without action, with what it would be given as a
 * trigger. */
static void
check_row(ActedKey *key, Relation relation)
{
	LOCAL_FCINFO(fcinfo, 0);
	TriggerData data = {.type = T_TriggerData,
						.tg_event = key->event,
						.tg_trigger = &key->trigger,
						.tg_relation = relation};

	data.tg_trigslot =
		MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsHeapTuple);
	ExecStoreHeapTuple(key->row, data.tg_trigslot, false);
	MemSet(fcinfo, 0, SizeForFunctionCallInfo(0));
	fcinfo->context = (Node *) &data;
	if (TRIGGER_FIRED_BY_UPDATE(key->event))
		RI_FKey_noaction_upd(fcinfo);
	else
		RI_FKey_noaction_del(fcinfo);
	ExecDropSingleTupleTableSlot(data.tg_trigslot);
}

/* The same where the client's snapshot is older than what is checked: an action would
 * find a row that it doesn't show. */
static void
check_row_serially(ActedKey *key, Relation relation)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		check_row(key, relation);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		if (geterrcode() != ERRCODE_FOREIGN_KEY_VIOLATION)
			PG_RE_THROW();
		FlushErrorState();
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("could not serialize access due to concurrent update")));
	}
	PG_END_TRY();
}

static void
check_key(ActedKey *key)
{
	Relation relation = try_table_open(key->relid, RowShareLock);

	if (relation == NULL)
		return;
	if (SearchSysCacheExists1(CONSTROID, ObjectIdGetDatum(key->trigger.tgconstraint)))
	{
		if (IsolationUsesXactSnapshot() && !key->waits)
			check_row_serially(key, relation);
		else
			check_row(key, relation);
	}
	table_close(relation, NoLock);
}

static void
check_keys(bool all)
{
	List *left = NIL;

	if (acted_keys == NIL)
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	foreach_ptr (ActedKey, key, acted_keys)
	{
		CHECK_FOR_INTERRUPTS();
		if (all || key->waits)
			check_key(key);
		else
		{
			MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

			left = lappend(left, key);
			MemoryContextSwitchTo(old);
		}
	}
	PopActiveSnapshot();
	acted_keys = left;
}

void
check_keys_here(void)
{
	check_keys(false);
}

/* pando.check_keys(): when a statement ends that changed rows one by one. */
Datum
check_waiting_keys(PG_FUNCTION_ARGS)
{
	check_keys_here();
	PG_RETURN_VOID();
}

static void
transaction_ends(XactEvent event, void *context)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			check_keys(true);
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			acted_keys = NIL;
			break;
		default:
			break;
	}
}

static void
subtransaction_ends(SubXactEvent event, SubTransactionId own, SubTransactionId parent,
					void *context)
{
	int kept = 0;

	if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB)
		return;
	/* Those of a subtransaction that has begun later stand behind. */
	foreach_ptr (ActedKey, key, acted_keys)
	{
		if (key->subxact == own && event == SUBXACT_EVENT_ABORT_SUB)
			break;
		if (key->subxact == own)
			key->subxact = parent;
		kept++;
	}
	acted_keys = list_truncate(acted_keys, kept);
}

/* ------------------------------------------------------------------------------------
 * The node.
 */

/* What is said of the change. */
typedef struct Elsewhere
{
	CustomScanState css;
	bool acts;
	bool moves;
	bool waits;
} Elsewhere;

static Oid
own_function(const char *name)
{
	return LookupFuncName(list_make2(makeString("pando"), makeString(pstrdup(name))), 0,
						  NULL, false);
}

/* A row that moves has been updated: what an UPDATE does is done elsewhere. */
static bool
is_done_elsewhere(const Elsewhere *elsewhere, const Trigger *trigger)
{
	if (trigger_is_action(trigger))
		return elsewhere->acts || elsewhere->moves;
	return elsewhere->moves && RI_FKey_trigger_type(trigger->tgfoid) == RI_TRIGGER_PK &&
		   key_has_update_action(trigger->tgconstraint);
}

static void
replace_triggers(const Elsewhere *elsewhere, const ResultRelInfo *relinfo)
{
	TriggerDesc *triggers = relinfo->ri_TrigDesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger *trigger = &triggers->triggers[i];

		if (is_done_elsewhere(elsewhere, trigger))
			trigger->tgfoid = own_function("action_elsewhere");
		else if (elsewhere->waits &&
				 trigger_checks_itself(trigger,
									   RelationGetRelid(relinfo->ri_RelationDesc)))
			trigger->tgfoid = own_function("key_waits");
	}
}

static void
elsewhere_begin(CustomScanState *node, EState *estate, int eflags)
{
	Elsewhere *elsewhere = (Elsewhere *) node;
	const CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	ModifyTableState *modify =
		castNode(ModifyTableState, ExecInitNode(outerPlan(plan), estate, eflags));

	outerPlanState(node) = &modify->ps;
	elsewhere->acts = boolVal(linitial(plan->custom_private));
	elsewhere->moves = boolVal(lsecond(plan->custom_private));
	elsewhere->waits = boolVal(lthird(plan->custom_private));
	for (int i = 0; i < modify->mt_nrels; i++)
		replace_triggers(elsewhere, &modify->resultRelInfo[i]);
}

static TupleTableSlot *
elsewhere_next(CustomScanState *node)
{
	return ExecProcNode(outerPlanState(node));
}

static void
elsewhere_end(CustomScanState *node)
{
	ExecEndNode(outerPlanState(node));
}

static void
elsewhere_rescan(CustomScanState *node)
{
	elog(ERROR, "a change can't be run again");
}

static const CustomExecMethods elsewhere_methods = {
	.CustomName = "Citus Actions Elsewhere",
	.BeginCustomScan = elsewhere_begin,
	.ExecCustomScan = elsewhere_next,
	.EndCustomScan = elsewhere_end,
	.ReScanCustomScan = elsewhere_rescan,
};

void
actions_elsewhere_init(void)
{
	plan_register_kind(PLAN_ACTIONS_ELSEWHERE, sizeof(Elsewhere), &elsewhere_methods);
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
}
