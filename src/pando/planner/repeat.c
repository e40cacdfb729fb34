/*
 * repeat.c: statements that come again with other constants are not planned again.
 *
 * A client of the simple protocol sends its values as constants. From the second time on,
 * a statement's constants are taken out (normal_form.c) and it is planned as with
 * parameters; that plan, one fragment, is kept. Each further statement of this form gets
 * a shallow copy of it with its own constants as values. On the nodes it is a named
 * prepared statement then, like one with parameters.
 *
 * Statements that come only once keep their constants, and nothing is kept of them.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "nodes/plannodes.h"
#include "utils/memutils.h"

#include "pando/plan/fragment.h"
#include "pando/planner/plan_store.h"
#include "pando/planner/repeat.h"

#define STORE_CAPACITY 256
#define NSEEN 512

typedef struct RepeatedPlan
{
	StoredPlan stored;
	Query *query; /* its normal form */
	OverrideSearchPath *path;
} RepeatedPlan;

static PlanStore *repeated_plans = NULL;

/* Hashes of forms, each in its one place: what is forgotten costs only time. */
static uint64 seen[NSEEN];
static uint64 refused[NSEEN]; /* their plans can't be kept */

static bool
is_worth_keeping(uint64 hash)
{
	uint64 *place = &seen[hash % NSEEN];
	bool before = *place == hash;

	*place = hash;
	return before && refused[hash % NSEEN] != hash;
}

static void
unpin_plan(void *plan)
{
	plan_store_unpin(plan);
}

/* The plan stays as long as what is planned lives: it shares most of it. */
static void
pin_plan(RepeatedPlan *plan)
{
	MemoryContextCallback *callback = palloc(sizeof(MemoryContextCallback));

	callback->func = unpin_plan;
	callback->arg = plan;
	plan_store_pin(&plan->stored);
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
}

/* The kept plan with this statement's constants. */
static PlannedStmt *
plan_with_constants(RepeatedPlan *plan, const Query *query, const NormalForm *form)
{
	PlannedStmt *stmt = palloc(sizeof(PlannedStmt));
	CustomScan *scan = palloc(sizeof(CustomScan));

	pin_plan(plan);
	*stmt = *plan->stored.stmt;
	*scan = *(CustomScan *) stmt->planTree;
	scan->custom_private =
		fragment_packed_fill(scan->custom_private, normal_form_fill, form);
	stmt->planTree = &scan->scan.plan;
	stmt->queryId = query->queryId;
	stmt->stmt_location = query->stmt_location;
	stmt->stmt_len = form->stmt_len;
	return stmt;
}

PlannedStmt *
repeat_plan(Query *query, Repeat *repeat)
{
	RepeatedPlan *plan;

	repeat->query = NULL;
	if (plan_explained || !normal_form_take(query, &repeat->form))
		return NULL;
	if (repeated_plans == NULL)
		repeated_plans = plan_store_create("pando repeated plans", STORE_CAPACITY);
	plan = (RepeatedPlan *) plan_store_find(repeated_plans, repeat->form.hash);
	if (plan != NULL && OverrideSearchPathMatchesCurrent(plan->path) &&
		equal(plan->query, query))
		return plan_with_constants(plan, query, &repeat->form);
	if (is_worth_keeping(repeat->form.hash))
	{
		repeat->original = query;
		repeat->query = copyObject(query);
	}
	else
		normal_form_restore(query, &repeat->form);
	return NULL;
}

/* Does the scan hand on the fragment's rows as they are? */
static bool
computes_nothing(const CustomScan *scan)
{
	foreach_ptr (TargetEntry, tle, scan->scan.plan.targetlist)
	{
		if (!IsA(tle->expr, Var))
			return false;
	}
	return scan->scan.plan.qual == NIL;
}

/*
 * One fragment for shard groups by key, and nothing else? What is computed here was
 * planned with this statement's values.
 */
static bool
can_be_kept(const PlannedStmt *stmt)
{
	const CustomScan *scan = (const CustomScan *) stmt->planTree;

	return IsA(scan, CustomScan) && scan->methods == plan_scan_methods(PLAN_FRAGMENT) &&
		   scan->custom_plans == NIL && scan->custom_exprs == NIL &&
		   stmt->subplans == NIL && !stmt->transientPlan && computes_nothing(scan) &&
		   fragment_packed_is_routed(scan->custom_private);
}

PlannedStmt *
repeat_planned(Repeat *repeat, PlannedStmt *stmt)
{
	RepeatedPlan *plan;
	MemoryContext old;

	if (!can_be_kept(stmt))
	{
		refused[repeat->form.hash % NSEEN] = repeat->form.hash;
		normal_form_restore(repeat->original, &repeat->form);
		return NULL;
	}
	plan = (RepeatedPlan *) plan_store_new(sizeof(RepeatedPlan));
	old = MemoryContextSwitchTo(plan->stored.context);
	plan->stored.stmt = copyObject(stmt);
	plan->stored.relations = plan->stored.stmt->relationOids;
	plan->query = copyObject(repeat->original);
	plan->path = GetOverrideSearchPath(plan->stored.context);
	MemoryContextSwitchTo(old);
	plan_store_keep(repeated_plans, &plan->stored, repeat->form.hash);
	return plan_with_constants(plan, repeat->original, &repeat->form);
}
