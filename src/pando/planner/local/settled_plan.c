/*
 * settled_plan.c: one plan for another node's prepared statement whose values change
 * little.
 *
 * PostgreSQL plans a prepared statement five times for the values at hand before it
 * compares that with a plan for all values. A node prepares each statement of a client
 * here once for each shard, so that of the client's first thousands a good part would be
 * planned. Where the first plan is for one row, or costs less than it cost to make, the
 * next four would bring nothing: it counts for all five. PostgreSQL still compares the
 * two kinds, and takes the cheaper one.
 */
#include "pando/compat/compat.h"

#include "commands/prepare.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "tcop/pquery.h"
#include "utils/plancache.h"

#include "pando/base/hook.h"
#include "pando/base/statement_caches.h"
#include "pando/planner/local/lookup_plan.h"
#include "pando/planner/local/settled_plan.h"
#include "pando/remote/session.h"

/* As choose_custom_plan() and cached_plan_cost() have them. */
#define CUSTOM_PLANS 5
#define PLANNING_OPERATORS 1000

static bool
costs_less_than_planning(const PlannedStmt *stmt)
{
	return stmt->planTree->total_cost <
		   PLANNING_OPERATORS * cpu_operator_cost * (list_length(stmt->rtable) + 1);
}

/* Makes the plan, if it is the first of the portal's statement, count for all. */
static void
settle(const PlannedStmt *stmt)
{
	const Portal portal = ActivePortal;
	PreparedStatement *prepared;
	CachedPlanSource *plans;

	if (portal == NULL || portal->cplan == NULL ||
		portal->cplan->refcount > 1 || /* the plan for all values */
		linitial(portal->cplan->stmt_list) != stmt ||
		!session_names_statement(portal->prepStmtName))
		return;
	prepared = FetchPreparedStatement(portal->prepStmtName, false);
	if (prepared == NULL)
		return;
	plans = prepared->plansource;
	if (plans->num_custom_plans != 1 || plans->gplan != NULL ||
		!(plan_is_lookup(stmt) || costs_less_than_planning(stmt)))
		return;
	plans->num_custom_plans = CUSTOM_PLANS;
	plans->total_custom_cost *= CUSTOM_PLANS;
}

static void
settled_start(QueryDesc *query, int eflags)
{
	if (statement_caches != STATEMENT_CACHES_NEVER && query->params != NULL)
		settle(query->plannedstmt);
	hook_start_next(START_SETTLED, query, eflags);
}

void
settled_plan_init(void)
{
	hook_start(START_SETTLED, settled_start);
}
