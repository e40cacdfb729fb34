/*
 * local_start.c: a fragment whose shard group turns out to be here when it starts:
 * PostgreSQL's plan for it, which is kept, takes its place.
 *
 * So does the kept plan of a statement that came before with other constants (repeat.c).
 */
#include "pando/compat/compat.h"

#include "common/hashfn.h"

#include "pando/base/counter.h"
#include "pando/base/expr.h"
#include "pando/base/hook.h"
#include "pando/planner/write/insert.h"
#include "pando/planner/local/kept_execution.h"
#include "pando/planner/local/local_plan.h"
#include "pando/planner/local/local_start.h"
#include "pando/planner/write/may_run_here.h"
#include "pando/planner/local/repeat.h"

#define STORE_CAPACITY 1024

typedef struct LocalPlan
{
	StoredPlan stored;
	uint64 fragment;
	int index;
} LocalPlan;

static PlanStore *local_plans = NULL;

/* The key's value for this execution. */
static Datum
key_value_now(Expr *key, ParamListInfo params, EState **estate, bool *isnull)
{
	ExprState *state;
	Datum value;

	if (expr_value(key, params, &value, isnull))
		return value;
	*estate = CreateExecutorState();
	(*estate)->es_param_list_info = params;
	state = ExecPrepareExpr(key, *estate);
	return ExecEvalExprSwitchContext(state, GetPerTupleExprContext(*estate), isnull);
}

/* The shard group that the fragment needs this time, -1: it is not here. */
static int
shard_here(const FragmentLocal *local, const DistTable *anchor, ParamListInfo params)
{
	EState *estate = NULL;
	int index = 0;

	if (local->key != NULL)
	{
		bool isnull;
		Datum value = key_value_now(local->key, params, &estate, &isnull);

		index = shard_index_of_value(anchor, value, isnull);
	}
	if (estate != NULL)
		FreeExecutorState(estate);
	return shard_is_only_here(anchor, index) ? index : -1;
}

static LocalPlan *
make_local_plan(const FragmentLocal *local, const DistTable *anchor, int index)
{
	PlannedStmt *stmt;
	StoredPlan *stored;
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "local plan", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);

	stmt = plan_on_shards(copyObject(local->query), anchor, index, NULL,
						  local->cursor_options, NULL);
	MemoryContextSwitchTo(old);
	if (stmt == NULL)
	{
		MemoryContextDelete(scratch);
		return NULL;
	}
	stored = plan_store_new(sizeof(LocalPlan));
	plan_store_fill(stored, stmt, local->id);
	MemoryContextDelete(scratch);
	((LocalPlan *) stored)->fragment = local->id;
	((LocalPlan *) stored)->index = index;
	return (LocalPlan *) stored;
}

static LocalPlan *
local_plan_for(const FragmentLocal *local, const DistTable *anchor, int index,
			   List *rtable)
{
	uint64 hash = hash_bytes_uint32_extended((uint32) index, local->id);
	LocalPlan *plan;

	if (local_plans == NULL)
		local_plans = plan_store_create("pando local plans", STORE_CAPACITY);
	plan = (LocalPlan *) plan_store_find(local_plans, hash);
	if (plan != NULL && plan->fragment == local->id && plan->index == index &&
		plan_store_lock(&plan->stored, rtable))
		return plan;
	plan = make_local_plan(local, anchor, index);
	if (plan != NULL)
		plan_store_keep(local_plans, &plan->stored, hash);
	return plan;
}

/* PostgreSQL's plan for the fragment; NULL: its shard is not here. */
static StoredPlan *
plan_here(const FragmentLocal *local, const QueryDesc *query)
{
	const DistTable *anchor = dist_table(local->anchor);
	int index = anchor != NULL ? shard_here(local, anchor, query->params) : -1;
	LocalPlan *plan = NULL;

	if (index >= 0)
		plan = local_plan_for(local, anchor, index, query->plannedstmt->rtable);
	if (plan == NULL)
		return NULL;
	counter_add(COUNTER_QUERY_SINGLE);
	return &plan->stored;
}

/* The kept plan that takes the place of the statement's own; NULL: none does. Puts the
 * constants that it carries among the parameters. */
static StoredPlan *
plan_instead(QueryDesc *query, int eflags)
{
	Plan *plan = query->plannedstmt->planTree;
	FragmentConstants constants;
	FragmentLocal local;
	StoredPlan *kept = NULL;
	bool repeated;
	bool is_local;
	List *packed;

	if (!plan_is_kind(plan, PLAN_FRAGMENT))
		return NULL;
	packed = ((CustomScan *) plan)->custom_private;
	repeated = fragment_packed_constants(packed, &constants);
	if (repeated)
		query->params = repeat_params(&constants, query->params);
	is_local = fragment_packed_local(packed, &local);
	if ((plan_shows_tasks() || (eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0) &&
		!(is_local && local.only))
		return NULL;
	if (is_local)
		kept = plan_here(&local, query);
	if (is_local && kept == NULL && local.only)
		check_on_shard(local.query, dist_table_require(local.anchor));
	if (kept == NULL && repeated)
		kept = repeat_kept(&constants, fragment_packed_id(packed));
	return kept;
}

/* An execution of a kept plan. */
typedef struct Execution
{
	MemoryContextCallback on_end;
	StoredPlan *plan;
	PlannedStmt *stmt;
} Execution;

static void
execution_ended(void *arg)
{
	Execution *execution = arg;

	if (execution->plan->cast != NULL)
		mould_give_back(execution->plan->cast, execution->stmt);
	plan_store_unpin(execution->plan);
}

static void
local_start(QueryDesc *query, int eflags)
{
	StoredPlan *plan = plan_instead(query, eflags);
	Execution *execution;

	if (plan == NULL)
	{
		hook_start_next(START_INSTEAD, query, eflags);
		return;
	}
	execution = palloc(sizeof(Execution));
	execution->plan = plan;
	execution->stmt = plan->cast != NULL ? mould_take(plan->cast) : plan->stmt;
	if (execution->stmt == plan->stmt)
		kept_execution_expect(execution->stmt);
	execution->on_end.func = execution_ended;
	execution->on_end.arg = execution;
	plan_store_pin(plan);
	execution->stmt->queryId = query->plannedstmt->queryId;
	execution->stmt->stmt_location = query->plannedstmt->stmt_location;
	execution->stmt->stmt_len = query->plannedstmt->stmt_len;
	query->plannedstmt = execution->stmt;
	PG_TRY();
	{
		hook_start_next(START_INSTEAD, query, eflags);
	}
	PG_CATCH();
	{
		kept_execution_expect(NULL);
		execution_ended(execution);
		PG_RE_THROW();
	}
	PG_END_TRY();
	MemoryContextRegisterResetCallback(kept_execution_memory(query->estate),
									   &execution->on_end);
}

void
local_start_init(void)
{
	hook_start(START_INSTEAD, local_start);
}
