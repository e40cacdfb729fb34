/*
 * repeat.c: statements that come again with other constants are not planned again.
 *
 * A client of the simple protocol sends its values as constants. From the second time on,
 * a statement's constants are taken out (normal_form.c) and it is planned as with
 * parameters; that plan is kept. Each further statement of this form gets a shallow copy
 * of it with its own constants as values. What is kept is
 *
 * - one fragment, which on the nodes is a named prepared statement then, like one with
 *   parameters;
 * - for a shard that is here, PostgreSQL's plan, if it is one for a single row
 *   (lookup_plan.c): any other might have been better with this statement's values.
 *
 * Statements that come only once keep their constants, and nothing is kept of them.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "nodes/plannodes.h"
#include "utils/memutils.h"
#include "utils/plancache.h"

#include "pando/plan/fragment.h"
#include "pando/planner/lookup_plan.h"
#include "pando/planner/plan_store.h"
#include "pando/planner/repeat.h"

/* Statements have a plan for each shard that is here. */
#define STORE_CAPACITY 1024
#define NSEEN 512

/* Of DECLARE CURSOR: rows may be fetched backward, and after something else has run. */
#define CURSOR_OPTS (CURSOR_OPT_SCROLL | CURSOR_OPT_FAST_PLAN)

/* What was planned. */
typedef struct RepeatedStatement
{
	Query *query; /* its normal form */
	OverrideSearchPath *path;
} RepeatedStatement;

typedef struct RepeatedPlan
{
	StoredPlan stored;
	const RepeatedStatement *statement;
	int shard; /* or REPEAT_FRAGMENT */
} RepeatedPlan;

static PlanStore *repeated_plans = NULL;

/* Hashes of forms, each in its one place: what is forgotten costs only time. */
static uint64 seen[NSEEN];
static uint64 refused[NSEEN]; /* their plans can't be kept */

static bool
is_worth_keeping(const Repeat *repeat)
{
	uint64 form = hash_combine64(repeat->form.hash, repeat->shard == REPEAT_FRAGMENT);
	uint64 *place = &seen[form % NSEEN];
	bool before = *place == form;

	*place = form;
	return before && refused[repeat->hash % NSEEN] != repeat->hash;
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

static PlannedStmt *
fragment_with_constants(const PlannedStmt *kept, const NormalForm *form)
{
	PlannedStmt *stmt = palloc(sizeof(PlannedStmt));
	CustomScan *scan = palloc(sizeof(CustomScan));

	*stmt = *kept;
	*scan = *(CustomScan *) stmt->planTree;
	scan->custom_private =
		fragment_packed_fill(scan->custom_private, normal_form_fill, form);
	stmt->planTree = &scan->scan.plan;
	return stmt;
}

/* The kept plan with this statement's constants. */
static PlannedStmt *
plan_with_constants(RepeatedPlan *plan, const Query *query, const NormalForm *form)
{
	PlannedStmt *stmt;

	pin_plan(plan);
	stmt = plan->shard == REPEAT_FRAGMENT
			   ? fragment_with_constants(plan->stored.stmt, form)
			   : lookup_plan_fill(plan->stored.stmt, form);
	if (plan->stored.cast != NULL)
		mould_fill(plan->stored.cast, stmt);
	stmt->queryId = query->queryId;
	stmt->stmt_location = query->stmt_location;
	stmt->stmt_len = form->stmt_len;
	return stmt;
}

static bool
is_statement(const RepeatedStatement *statement, const Query *query)
{
	return OverrideSearchPathMatchesCurrent(statement->path) &&
		   equal(statement->query, query);
}

static RepeatedPlan *
find_plan(const Query *query, const Repeat *repeat)
{
	RepeatedPlan *plan = (RepeatedPlan *) plan_store_find(repeated_plans, repeat->hash);

	if (plan == NULL || plan->shard != repeat->shard ||
		!is_statement(plan->statement, query))
		return NULL;
	/* The parser has locked what the statement names: all there is in a fragment. */
	if (plan->shard != REPEAT_FRAGMENT && !plan_store_lock(&plan->stored, query->rtable))
		return NULL;
	return plan;
}

PlannedStmt *
repeat_plan(Query *query, int cursor_options, int shard, Repeat *repeat)
{
	RepeatedPlan *plan;

	repeat->query = NULL;
	if (plan_explained || (cursor_options & CURSOR_OPTS) != 0 ||
		plan_cache_mode == PLAN_CACHE_MODE_FORCE_CUSTOM_PLAN ||
		!normal_form_take(query, &repeat->form))
		return NULL;
	if (repeated_plans == NULL)
		repeated_plans = plan_store_create("pando repeated plans", STORE_CAPACITY);
	repeat->shard = shard;
	repeat->hash = hash_combine64(repeat->form.hash, (uint64) shard);
	plan = find_plan(query, repeat);
	if (plan != NULL)
		return plan_with_constants(plan, query, &repeat->form);
	if (is_worth_keeping(repeat))
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
is_fragment_to_keep(const PlannedStmt *stmt)
{
	const CustomScan *scan = (const CustomScan *) stmt->planTree;

	return IsA(scan, CustomScan) && scan->methods == plan_scan_methods(PLAN_FRAGMENT) &&
		   scan->custom_plans == NIL && scan->custom_exprs == NIL &&
		   stmt->subplans == NIL && !stmt->transientPlan && computes_nothing(scan) &&
		   fragment_packed_is_routed(scan->custom_private);
}

static bool
can_be_kept(const Repeat *repeat, const PlannedStmt *stmt)
{
	if (stmt == NULL)
		return false;
	return repeat->shard == REPEAT_FRAGMENT ? is_fragment_to_keep(stmt)
											: plan_is_lookup(stmt);
}

static RepeatedStatement *
statement_make(const Query *query, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	RepeatedStatement *statement = palloc(sizeof(RepeatedStatement));

	statement->query = copyObject(unconstify(Query *, query));
	statement->path = GetOverrideSearchPath(context);
	MemoryContextSwitchTo(old);
	return statement;
}

/* The plan's own, or that of its mould. */
static const RepeatedStatement *
statement_for(const StoredPlan *plan, const Query *query)
{
	Mould *mould = plan->cast != NULL ? plan->cast->mould : NULL;

	if (mould == NULL || (mould->source != NULL && !is_statement(mould->source, query)))
		return statement_make(query, plan->context);
	if (mould->source == NULL)
		mould->source = statement_make(query, mould->context);
	return mould->source;
}

PlannedStmt *
repeat_planned(Repeat *repeat, PlannedStmt *stmt)
{
	RepeatedPlan *plan;
	StoredPlan *stored;

	if (!can_be_kept(repeat, stmt))
	{
		refused[repeat->hash % NSEEN] = repeat->hash;
		normal_form_restore(repeat->original, &repeat->form);
		return NULL;
	}
	plan = (RepeatedPlan *) plan_store_new(sizeof(RepeatedPlan));
	stored = &plan->stored;
	plan_store_fill(stored, stmt, repeat->form.hash);
	plan->statement = statement_for(stored, repeat->original);
	plan->shard = repeat->shard;
	plan_store_keep(repeated_plans, stored, repeat->hash);
	return plan_with_constants(plan, repeat->original, &repeat->form);
}
