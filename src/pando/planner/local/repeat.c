/*
 * repeat.c: statements that come again with other constants are not planned again.
 *
 * A client of the simple protocol sends its values as constants. From the second time on,
 * a statement's constants are taken out (normal_form.c) and it is planned as if the
 * client had sent them as parameters, after those that it did send; that plan, a fragment
 * that is the whole statement, is kept. Each further statement of this form gets a
 * shallow copy of it that carries its own constants. When it starts (local_start.c) they
 * become parameters' values, and what runs is
 *
 * - where the shard is here, PostgreSQL's plan for it, if that is one for a single row
 *   (lookup_plan.c): any other might have been better with this statement's values;
 * - else the kept plan itself, whose text is a named prepared statement on the nodes;
 * - the copy, if what is kept has gone in between.
 *
 * Statements that come only once keep their constants, and nothing is kept of them.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "nodes/plannodes.h"
#include "utils/memutils.h"
#include "utils/plancache.h"

#include "pando/base/statement_caches.h"
#include "pando/plan/fragment.h"
#include "pando/planner/local/local_plan.h"
#include "pando/planner/local/normal_form.h"
#include "pando/planner/local/plan_store.h"
#include "pando/planner/local/repeat.h"

#define STORE_CAPACITY 1024
#define NSEEN 512

/* Statements whose plan can't be kept are planned as usual that often before it is tried
 * again: their tables may have grown. */
#define REFUSALS 1000

/* Of DECLARE CURSOR: rows may be fetched backward, and after something else has run. */
#define CURSOR_OPTS (CURSOR_OPT_SCROLL | CURSOR_OPT_FAST_PLAN)

typedef struct RepeatedPlan
{
	StoredPlan stored;
	Query *query; /* what was planned, in its normal form */
	SearchPathMatcher *path;
	RepeatShard shard;
	int first; /* number of the first constant's parameter */
} RepeatedPlan;

typedef struct Refused
{
	uint64 hash;
	int left; /* how often still */
} Refused;

static PlanStore *repeated_plans = NULL;

/* Hashes of forms, each in its one place: what is forgotten costs only time. */
static uint64 seen[NSEEN];
static Refused refused[NSEEN];

static bool
is_refused(uint64 hash)
{
	Refused *place = &refused[hash % NSEEN];

	return place->hash == hash && place->left-- > 0;
}

static bool
is_worth_keeping(const Repeat *repeat)
{
	uint64 *place = &seen[repeat->hash % NSEEN];
	bool before = *place == repeat->hash;

	if (statement_caches == STATEMENT_CACHES_ALWAYS)
		return true;
	*place = repeat->hash;
	return before && !is_refused(repeat->hash);
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
	FragmentConstants constants = {.statement = plan->stored.hash,
								   .first = plan->first,
								   .values = normal_form_constants(form)};
	PlannedStmt *stmt = palloc(sizeof(PlannedStmt));
	CustomScan *scan = palloc(sizeof(CustomScan));

	pin_plan(plan);
	*stmt = *plan->stored.stmt;
	*scan = *(CustomScan *) stmt->planTree;
	scan->custom_private =
		fragment_packed_with_constants(scan->custom_private, &constants);
	stmt->planTree = &scan->scan.plan;
	stmt->queryId = query->queryId;
	stmt->stmt_location = query->stmt_location;
	stmt->stmt_len = form->stmt_len;
	return stmt;
}

static RepeatedPlan *
find_plan(const Query *query, const Repeat *repeat)
{
	RepeatedPlan *plan = (RepeatedPlan *) plan_store_find(repeated_plans, repeat->hash);

	/* The parser has locked what the statement names: all there is in a fragment. */
	return plan != NULL && plan->shard == repeat->shard &&
				   SearchPathMatchesCurrentEnvironment(plan->path) &&
				   equal(plan->query, query)
			   ? plan
			   : NULL;
}

PlannedStmt *
repeat_plan(Query *query, int cursor_options, RepeatShard shard, Repeat *repeat)
{
	RepeatedPlan *plan;

	repeat->query = NULL;
	if (plan_shows_tasks() || statement_caches == STATEMENT_CACHES_NEVER ||
		(cursor_options & CURSOR_OPTS) != 0 ||
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
		repeat->first = normal_form_number(repeat->query);
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
is_fragment_to_keep(RepeatShard shard, const PlannedStmt *stmt)
{
	const CustomScan *scan;

	if (stmt == NULL)
		return false;
	scan = (const CustomScan *) stmt->planTree;
	return IsA(scan, CustomScan) && scan->methods == plan_scan_methods(PLAN_FRAGMENT) &&
		   scan->custom_plans == NIL && scan->custom_exprs == NIL &&
		   stmt->subplans == NIL && !stmt->transientPlan && computes_nothing(scan) &&
		   (shard != REPEAT_UNKNOWN || fragment_packed_is_routed(scan->custom_private));
}

/* May PostgreSQL's plan for a shard that is here take the fragment's place? */
static bool
fits_shard(RepeatShard shard, const PlannedStmt *stmt)
{
	FragmentLocal local;

	if (!fragment_packed_local(((CustomScan *) stmt->planTree)->custom_private, &local))
		return shard != REPEAT_HERE;
	return shard == REPEAT_ELSEWHERE ||
		   (shard == REPEAT_HERE && local_plans_are_lookups(&local));
}

static RepeatedPlan *
keep_plan(const Repeat *repeat, PlannedStmt *stmt)
{
	RepeatedPlan *plan = (RepeatedPlan *) plan_store_new(sizeof(RepeatedPlan));
	StoredPlan *stored = &plan->stored;
	MemoryContext old;

	plan_store_fill(stored, stmt, repeat->hash);
	old = MemoryContextSwitchTo(stored->context);
	plan->query = copyObject(repeat->original);
	plan->path = GetSearchPathMatcher(stored->context);
	MemoryContextSwitchTo(old);
	plan->shard = repeat->shard;
	plan->first = repeat->first;
	plan_store_keep(repeated_plans, stored, repeat->hash);
	return plan;
}

PlannedStmt *
repeat_planned(Repeat *repeat, PlannedStmt *stmt)
{
	if (!is_fragment_to_keep(repeat->shard, stmt) || !fits_shard(repeat->shard, stmt))
	{
		refused[repeat->hash % NSEEN] = (Refused){.hash = repeat->hash, .left = REFUSALS};
		normal_form_restore(repeat->original, &repeat->form);
		return NULL;
	}
	return plan_with_constants(keep_plan(repeat, stmt), repeat->original, &repeat->form);
}

/* ------------------------------------------------------------------------------------
 * When it starts.
 */

ParamListInfo
repeat_params(const FragmentConstants *constants, ParamListInfo params)
{
	int first = constants->first - 1; /* from 0 */
	ParamListInfo all = makeParamList(first + list_length(constants->values));
	int nclients = params != NULL ? Min(first, params->numParams) : 0;

	memset(all->params, 0, sizeof(ParamExternData) * all->numParams);
	for (int i = 0; i < nclients; i++)
	{
		ParamExternData fetched;

		all->params[i] = params->paramFetch != NULL
							 ? *params->paramFetch(params, i + 1, false, &fetched)
							 : params->params[i];
	}
	foreach_ptr (Const, constant, constants->values)
	{
		all->params[first++] = (ParamExternData){.value = constant->constvalue,
												 .pflags = PARAM_FLAG_CONST,
												 .ptype = constant->consttype};
	}
	return all;
}

StoredPlan *
repeat_kept(const FragmentConstants *constants, uint64 fragment)
{
	StoredPlan *plan;

	if (repeated_plans == NULL)
		return NULL;
	plan = plan_store_find(repeated_plans, constants->statement);
	if (plan == NULL ||
		fragment_packed_id(((CustomScan *) plan->stmt->planTree)->custom_private) !=
			fragment)
		return NULL;
	return plan;
}
