/*
 * kept_execution.c: the executor's state of a statement, kept for the next time.
 *
 * A kept execution belongs to a plan, by address, and goes with the plan's memory
 * context. standard_ExecutorStart() makes its state; instead of standard_ExecutorEnd()
 * it is put to rest: what a transaction owns is released, the rest stays. Starting again
 * does what standard_ExecutorStart() and the nodes' ExecInit functions do beyond that.
 *
 * Only plans of few kinds: a fragment, the scan of a unique btree index, the Result of an
 * INSERT, and a ModifyTable on either. Expressions have columns, parameters, constants,
 * built-in functions and operators. A changed table has nothing for which the executor
 * would make more state as it goes: no triggers, checks, generated columns, policies. All
 * else runs as ever, as does a second execution while the first is under way.
 *
 * The first run allocates in memory that stays; what a later one allocates is in a
 * context of its own, which is the state's es_query_cxt then.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "tcop/pquery.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pando/compat/rights.h"
#include "pando/base/hook.h"
#include "pando/base/statement_caches.h"
#include "pando/plan/fragment.h"
#include "pando/planner/local/kept_execution.h"
#include "pando/planner/local/lookup_plan.h"
#include "pando/remote/session.h"
#include "pando/transaction/xact.h"

/* The one used longest ago makes room. */
#define MAX_KEPT 128

typedef struct Run Run;
typedef struct KeptExecution KeptExecution;

/* A plan that stays: an entry of `plans`. */
typedef struct StayingPlan
{
	const PlannedStmt *stmt; /* the key */
	KeptExecution *kept;	 /* NULL: none now */
	bool fits;
	Bitmapset *params; /* of a plan without a fragment: numbers of those that it uses */
} StayingPlan;

struct KeptExecution
{
	dlist_node link;	   /* in `resting` or `running` */
	MemoryContext context; /* of this and of all that it points to */
	MemoryContext run_context;
	StayingPlan *plan;
	EState *estate;
	TupleDesc desc; /* of the result */
	PlanState *top;
	ModifyTableState *change; /* NULL: it is none */
	PlanState *leaf;
	Index table;	   /* what it reads or changes, in the range table; 0: a fragment */
	List *table_slots; /* TupleTableSlot *: for its rows */
	int natts;		   /* for which they have room */
	int ncontexts;	   /* ExprContexts */
	Oid user;		   /* whose rights to call functions were checked */
	uint64 generation; /* as of when */
	bool settled;	   /* the first run is over */
	Run *run;		   /* NULL: at rest */
};

/* From start to end; in the memory context that a statement's state would be in. */
struct Run
{
	MemoryContextCallback on_drop;
	KeptExecution *kept; /* NULL: ended */
};

static const PlannedStmt *expected = NULL;
static HTAB *plans = NULL;
static dlist_head resting = DLIST_STATIC_INIT(resting); /* most recently used first */
static dlist_head running = DLIST_STATIC_INIT(running);
static int nkept = 0;

/* Counts changes of functions and roles. */
static uint64 generation = 0;

/* ------------------------------------------------------------------------------------
 * Which plans.
 */

/* What the executor computes without memory of its own from one row to the next. */
static bool
is_unfit_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return ((Var *) node)->varattno <= 0 &&
				   ((Var *) node)->varattno != SelfItemPointerAttributeNumber;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN;
		case T_OpExpr:
			if (((OpExpr *) node)->opfuncid >= FirstUnpinnedObjectId ||
				((OpExpr *) node)->opretset)
				return true;
			break;
		case T_FuncExpr:
			if (((FuncExpr *) node)->funcid >= FirstUnpinnedObjectId ||
				((FuncExpr *) node)->funcretset)
				return true;
			break;
		case T_NullTest:
			if (((NullTest *) node)->argisrow)
				return true;
			break;
		case T_Const:
		case T_BoolExpr:
		case T_BooleanTest:
		case T_RelabelType:
		case T_SQLValueFunction:
		case T_TargetEntry:
		case T_List:
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, is_unfit_walker, context);
}

static bool
has_unfit(List *expressions)
{
	return is_unfit_walker((Node *) expressions, NULL);
}

static bool
leaf_fits(const Plan *plan)
{
	const IndexScan *scan = (const IndexScan *) plan;
	const CustomScan *custom = (const CustomScan *) plan;

	if (plan->initPlan != NIL || has_unfit(plan->targetlist) || has_unfit(plan->qual))
		return false;
	switch (nodeTag(plan))
	{
		case T_IndexScan:
			return scan->indexorderby == NIL && !has_unfit(scan->indexqual) &&
				   !has_unfit(scan->indexqualorig);
		case T_Result:
			return ((const Result *) plan)->resconstantqual == NULL;
		case T_CustomScan:
			return plan_is_kind(plan, PLAN_FRAGMENT) && custom->custom_plans == NIL &&
				   custom->custom_exprs == NIL &&
				   !fragment_unpack(custom->custom_private)->early;
		default:
			return false;
	}
}

static bool
change_fits(const ModifyTable *change)
{
	return change->operation != CMD_MERGE && list_length(change->resultRelations) == 1 &&
		   change->rootRelation == 0 && change->withCheckOptionLists == NIL &&
		   change->returningLists == NIL && change->rowMarks == NIL &&
		   change->onConflictAction == ONCONFLICT_NONE && change->plan.initPlan == NIL;
}

static bool
plan_fits(const PlannedStmt *stmt)
{
	const Plan *top = stmt->planTree;

	if (stmt->hasModifyingCTE || stmt->rowMarks != NIL || stmt->subplans != NIL ||
		stmt->jitFlags != 0 || stmt->parallelModeNeeded)
		return false;
	if (IsA(top, CustomScan))
		return stmt->paramExecTypes == NIL && leaf_fits(top);
	if (!plan_is_lookup(stmt))
		return false;
	if (!IsA(top, ModifyTable))
		return stmt->paramExecTypes == NIL && leaf_fits(top);
	/* It has one such parameter, by which EvalPlanQual() tells nodes that rows changed.
	 */
	return list_length(stmt->paramExecTypes) <= 1 &&
		   change_fits((const ModifyTable *) top) && leaf_fits(outerPlan(top));
}

/* The portal's prepared statement, with its plan for all values. */
static bool
is_prepared(const PlannedStmt *stmt)
{
	const Portal portal = ActivePortal;

	return portal != NULL && portal->cplan != NULL &&
		   portal->cplan->refcount > 1 && /* a plan for these values is the portal's */
		   linitial(portal->cplan->stmt_list) == stmt &&
		   (IsA(stmt->planTree, CustomScan) ||
			session_names_statement(portal->prepStmtName));
}

static bool
is_plain_run(const QueryDesc *query, int eflags)
{
	return eflags == 0 && query->instrument_options == 0 && query->queryEnv == NULL &&
		   query->crosscheck_snapshot == InvalidSnapshot && !XactReadOnly &&
		   !IsInParallelMode(); /* else there is more to check */
}

static bool
params_walker(Node *node, void *context)
{
	Bitmapset **numbers = context;

	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		*numbers = bms_add_member(*numbers, ((Param *) node)->paramid);
	return expression_tree_walker(node, params_walker, context);
}

static Bitmapset *
params_of(const PlannedStmt *stmt)
{
	const Plan *leaf =
		IsA(stmt->planTree, ModifyTable) ? outerPlan(stmt->planTree) : stmt->planTree;
	Bitmapset *numbers = NULL;

	(void) params_walker((Node *) leaf->targetlist, &numbers);
	(void) params_walker((Node *) leaf->qual, &numbers);
	if (IsA(leaf, IndexScan))
	{
		(void) params_walker((Node *) ((const IndexScan *) leaf)->indexqual, &numbers);
		(void) params_walker((Node *) ((const IndexScan *) leaf)->indexqualorig,
							 &numbers);
	}
	return numbers;
}

/*
 * Parameters of PL/pgSQL are its variables: it has itself asked for them, and compiled
 * into the executor's expressions, which are kept longer than that. So the values take
 * their place. False: PL/pgSQL had better be asked.
 */
static bool
take_values(const StayingPlan *plan, QueryDesc *query)
{
	const ParamListInfo params = query->params;
	ParamListInfo values;
	int number = -1;

	if (params == NULL || (params->paramFetch == NULL && params->paramCompile == NULL))
		return true;
	if (params->paramFetch == NULL || !plan->fits ||
		IsA(plan->stmt->planTree, CustomScan))
		return false;
	values = makeParamList(params->numParams);
	memset(values->params, 0, sizeof(ParamExternData) * params->numParams);
	while ((number = bms_next_member(plan->params, number)) >= 0)
	{
		ParamExternData room;
		const ParamExternData *param;

		if (number > params->numParams)
			return false;
		param = params->paramFetch(params, number, true, &room);
		if (!OidIsValid(param->ptype))
			return false;
		values->params[number - 1] = *param;
	}
	query->params = values;
	return true;
}

/* ------------------------------------------------------------------------------------
 * Plans and what is kept of them.
 */

static void
kept_drop(KeptExecution *kept)
{
	if (kept->plan != NULL)
		kept->plan->kept = NULL;
	if (kept->run != NULL)
		kept->run->kept = NULL;
	dlist_delete(&kept->link);
	nkept--;
	MemoryContextDelete(kept->context);
}

static void
plan_dropped(void *arg)
{
	StayingPlan *plan = arg;

	if (plan->kept != NULL && plan->kept->run == NULL)
		kept_drop(plan->kept);
	else if (plan->kept != NULL)
		plan->kept->plan = NULL;
	(void) hash_search(plans, &plan->stmt, HASH_REMOVE, NULL);
}

static StayingPlan *
staying_plan_add(const PlannedStmt *stmt)
{
	MemoryContext context = GetMemoryChunkContext(unconstify(PlannedStmt *, stmt));
	MemoryContextCallback *on_drop =
		MemoryContextAlloc(context, sizeof(MemoryContextCallback));
	bool fits = plan_fits(stmt);
	MemoryContext old = MemoryContextSwitchTo(context);
	Bitmapset *params = fits ? params_of(stmt) : NULL;
	StayingPlan *plan = hash_search(plans, &stmt, HASH_ENTER, NULL);

	plan->kept = NULL;
	plan->fits = fits;
	plan->params = params;
	MemoryContextSwitchTo(old);
	on_drop->func = plan_dropped;
	on_drop->arg = plan;
	MemoryContextRegisterResetCallback(context, on_drop);
	return plan;
}

static StayingPlan *
staying_plan(const PlannedStmt *stmt)
{
	StayingPlan *plan;

	if (plans == NULL)
	{
		HASHCTL control = {.keysize = sizeof(PlannedStmt *),
						   .entrysize = sizeof(StayingPlan),
						   .hcxt = TopMemoryContext};

		plans = hash_create("pando staying plans", 64, &control,
							HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	plan = hash_search(plans, &stmt, HASH_FIND, NULL);
	return plan != NULL ? plan : staying_plan_add(stmt);
}

/* Somebody's rights to call a function may be others. */
static void
rights_changed(Datum arg, int cache, uint32 hash)
{
	generation++;
}

/* ------------------------------------------------------------------------------------
 * Runs.
 */

/* The statement failed, or its portal went in a transaction that did. */
static void
run_dropped(void *arg)
{
	Run *run = arg;

	if (run->kept != NULL)
		kept_drop(run->kept);
}

static void
run_begin(KeptExecution *kept)
{
	Run *run = palloc(sizeof(Run));

	if (kept->settled)
		dlist_delete(&kept->link);
	run->kept = kept;
	run->on_drop.func = run_dropped;
	run->on_drop.arg = run;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &run->on_drop);
	kept->run = run;
	dlist_push_head(&running, &kept->link);
}

/* The first run: PostgreSQL makes the state. */
static void
start_first(StayingPlan *plan, QueryDesc *query, int eflags)
{
	MemoryContext context = AllocSetContextCreate(
		TopMemoryContext, "pando kept execution", ALLOCSET_SMALL_SIZES);
	KeptExecution *kept = MemoryContextAllocZero(context, sizeof(KeptExecution));
	MemoryContext old;

	if (nkept >= MAX_KEPT && !dlist_is_empty(&resting))
		kept_drop(dlist_tail_element(KeptExecution, link, &resting));
	kept->context = context;
	kept->run_context =
		AllocSetContextCreate(context, "pando kept run", ALLOCSET_SMALL_SIZES);
	kept->plan = plan;
	kept->user = GetUserId();
	kept->generation = generation;
	run_begin(kept);
	plan->kept = kept;
	nkept++;

	old = MemoryContextSwitchTo(context);
	standard_ExecutorStart(query, eflags);
	MemoryContextSwitchTo(old);
	kept->estate = query->estate;
	kept->desc = query->tupDesc;
	kept->top = kept->leaf = query->planstate;
	if (IsA(kept->top, ModifyTableState))
	{
		kept->change = (ModifyTableState *) kept->top;
		kept->leaf = outerPlanState(kept->top);
		kept->table = kept->change->resultRelInfo->ri_RangeTableIndex;
	}
	else if (IsA(kept->top, IndexScanState))
		kept->table = ((Scan *) kept->top->plan)->scanrelid;
}

/* Would the executor make more state for a change of the table as it goes? */
static bool
is_plain_table(Relation rel)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;

	return rel->rd_rel->relkind == RELKIND_RELATION && rel->trigdesc == NULL &&
		   rel->rd_rel->relchecks == 0 && !rel->rd_rel->relispartition &&
		   (constraints == NULL || !constraints->has_generated_stored);
}

/* Has the run, the first, made all that later ones need? */
static bool
is_complete(const KeptExecution *kept)
{
	const ResultRelInfo *target;

	if (kept->change == NULL)
		return true;
	target = kept->change->resultRelInfo;
	if (!is_plain_table(target->ri_RelationDesc) && kept->plan != NULL)
		kept->plan->fits = false;
	return kept->plan != NULL && kept->plan->fits &&
		   (target->ri_projectNewInfoValid || kept->change->operation == CMD_DELETE);
}

/* The first run is over: from now on there is a context for each. */
static void
settle(KeptExecution *kept)
{
	EState *estate = kept->estate;
	MemoryContext old = MemoryContextSwitchTo(kept->context);

	foreach_ptr (TupleTableSlot, slot, estate->es_tupleTable)
	{
		TupleDesc desc = slot->tts_tupleDescriptor;

		/* The table's own, which is there as long as the table is open. */
		if (desc->tdrefcount >= 0)
		{
			kept->natts = desc->natts;
			ExecClearTuple(slot);
			ReleaseTupleDesc(desc);
			kept->table_slots = lappend(kept->table_slots, slot);
		}
	}
	(void) GetPerTupleExprContext(estate);
	foreach_ptr (ExprContext, context, estate->es_exprcontexts)
	{
		context->ecxt_per_query_memory = kept->run_context;
		kept->ncontexts++;
	}
	estate->es_query_cxt = kept->run_context;
	kept->settled = true;
	MemoryContextSwitchTo(old);
}

/* Opens the table; false: it is not as it was. */
static bool
open_table(KeptExecution *kept)
{
	Relation rel = ExecGetRangeTableRelation(kept->estate, kept->table);

	if (kept->change != NULL && !is_plain_table(rel))
		return false;
	foreach_ptr (TupleTableSlot, slot, kept->table_slots)
	{
		if (RelationGetDescr(rel)->natts != kept->natts ||
			table_slot_callbacks(rel) != slot->tts_ops)
			return false;
		slot->tts_tupleDescriptor = RelationGetDescr(rel);
	}
	return true;
}

static void
begin_leaf(KeptExecution *kept)
{
	if (IsA(kept->leaf, IndexScanState))
	{
		IndexScanState *scan = (IndexScanState *) kept->leaf;
		const IndexScan *plan = (const IndexScan *) kept->leaf->plan;

		scan->ss.ss_currentRelation =
			ExecOpenScanRelation(kept->estate, plan->scan.scanrelid, 0);
		scan->iss_RelationDesc =
			index_open(plan->indexid,
					   exec_rt_fetch(plan->scan.scanrelid, kept->estate)->rellockmode);
		scan->iss_ScanDesc = NULL;
		scan->iss_RuntimeKeysReady = false;
	}
	else if (IsA(kept->leaf, ResultState))
		ExecReScan(kept->leaf);
}

static void
begin_change(KeptExecution *kept)
{
	ResultRelInfo *target = kept->change->resultRelInfo;

	target->ri_RelationDesc = ExecGetRangeTableRelation(kept->estate, kept->table);
	target->ri_NumIndices = 0;
	target->ri_IndexRelationDescs = NULL;
	target->ri_IndexRelationInfo = NULL;
	kept->change->mt_done = false;
	kept->change->fireBSTriggers = true;
}

/* What standard_ExecutorStart() does each time; false: it must do all of it. */
static bool
start_again(KeptExecution *kept, QueryDesc *query)
{
	EState *estate = kept->estate;

	if (kept->user != GetUserId() || kept->generation != generation)
	{
		kept_drop(kept);
		return false;
	}
	run_begin(kept);
	if (kept->table != 0 && !open_table(kept))
	{
		ExecCloseRangeTableRelations(estate);
		kept_drop(kept);
		return false;
	}
	if (query->operation != CMD_SELECT)
	{
		estate->es_output_cid = GetCurrentCommandId(true);
		AfterTriggerBeginQuery();
	}
	compat_check_plan_rights(query->plannedstmt);
	estate->es_snapshot = RegisterSnapshot(query->snapshot);
	estate->es_param_list_info = query->params;
	foreach_ptr (ExprContext, context, estate->es_exprcontexts)
	{
		context->ecxt_param_list_info = query->params;
	}
	estate->es_sourceText = query->sourceText;
	estate->es_direction = ForwardScanDirection;
	estate->es_processed = 0;
	estate->es_finished = false;
	if (kept->change != NULL)
		begin_change(kept);
	begin_leaf(kept);
	query->estate = estate;
	query->planstate = kept->top;
	query->tupDesc = kept->desc;
	return true;
}

/* Ends the nodes, which keep what they have but for what is the transaction's. */
static void
end_nodes(KeptExecution *kept)
{
	ExprContext *top_context = kept->top->ps_ExprContext;
	ExprContext *leaf_context = kept->leaf->ps_ExprContext;
	EState *estate = kept->estate;

	ExecEndNode(kept->top);
	kept->top->ps_ExprContext = top_context;
	kept->leaf->ps_ExprContext = leaf_context;
	foreach_ptr (TupleTableSlot, slot, kept->table_slots)
	{
		ExecClearTuple(slot);
		slot->tts_tupleDescriptor = NULL;
	}
	ExecCloseResultRelations(estate);
	ExecCloseRangeTableRelations(estate);
	memset(estate->es_relations, 0, sizeof(Relation) * estate->es_range_table_size);
	UnregisterSnapshot(estate->es_snapshot);
	foreach_ptr (ExprContext, context, estate->es_exprcontexts)
	{
		ReScanExprContext(context);
	}
}

/* Instead of standard_ExecutorEnd(). */
static void
rest(KeptExecution *kept, QueryDesc *query)
{
	MemoryContext old;

	if (!kept->settled && !is_complete(kept))
	{
		standard_ExecutorEnd(query);
		kept_drop(kept);
		return;
	}
	if (!kept->settled)
		settle(kept);
	/* Of the run alone; the newest are at the head. */
	while (list_length(kept->estate->es_exprcontexts) > kept->ncontexts)
		FreeExprContext(linitial(kept->estate->es_exprcontexts), true);
	xact_execution_ends(kept->estate);
	old = MemoryContextSwitchTo(kept->run_context);
	end_nodes(kept);
	MemoryContextSwitchTo(old);
	query->tupDesc = NULL;
	query->estate = NULL;
	query->planstate = NULL;
	query->totaltime = NULL;
	/* With this its plan may go. */
	MemoryContextReset(kept->run_context);
	kept->run->kept = NULL;
	kept->run = NULL;
	dlist_delete(&kept->link);
	dlist_push_head(&resting, &kept->link);
	if (kept->plan == NULL)
		kept_drop(kept);
}

/* The kept execution that the state is of; NULL: it is none. */
static KeptExecution *
kept_by_state(const EState *estate)
{
	dlist_iter iter;

	dlist_foreach (iter, &running)
	{
		KeptExecution *kept = dlist_container(KeptExecution, link, iter.cur);

		if (kept->estate == estate)
			return kept;
	}
	return NULL;
}

static void
kept_start(QueryDesc *query, int eflags)
{
	const PlannedStmt *stmt = query->plannedstmt;
	bool stays = statement_caches != STATEMENT_CACHES_NEVER &&
				 (stmt == expected || is_prepared(stmt));
	StayingPlan *plan = NULL;

	expected = NULL;
	if (stays && is_plain_run(query, eflags))
		plan = staying_plan(stmt);
	if (plan != NULL && !take_values(plan, query))
		plan = NULL;
	if (plan != NULL && plan->kept != NULL && plan->kept->run == NULL &&
		start_again(plan->kept, query))
		return;
	if (plan != NULL && plan->fits && plan->kept == NULL)
		start_first(plan, query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

static void
kept_end(QueryDesc *query)
{
	KeptExecution *kept = kept_by_state(query->estate);

	if (kept != NULL)
		rest(kept, query);
	else
		standard_ExecutorEnd(query);
}

void
kept_execution_expect(const PlannedStmt *stmt)
{
	expected = stmt;
}

MemoryContext
kept_execution_memory(const EState *estate)
{
	const KeptExecution *kept = kept_by_state(estate);

	return kept != NULL ? kept->run_context : estate->es_query_cxt;
}

void
kept_execution_init(void)
{
	/* A hook that somebody else put here before would not be called. */
	if (ExecutorStart_hook != NULL || ExecutorEnd_hook != NULL)
		return;
	hook_start(START_KEPT, kept_start);
	hook_end(END_KEPT, kept_end);
	CacheRegisterSyscacheCallback(PROCOID, rights_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, rights_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, rights_changed, (Datum) 0);
}
