/*
 * planning.c: planning again, within the planning of a statement.
 *
 * The planner hook is the top of this module; what lies below it reaches it here.
 */
#include "pando/compat/compat.h"

#include "optimizer/planner.h"

#include "pando/planner/fragment/planning.h"

static planner_hook_type next_planner;
static PlanAny plan_any;

void
planning_init(planner_hook_type next, PlanAny any)
{
	next_planner = next;
	plan_any = any;
}

PlannedStmt *
plan_any_query(Query *query, int cursor_options, ParamListInfo params)
{
	return plan_any(query, cursor_options, params);
}

PlannedStmt *
plan_locally(Query *query, const char *source, int cursor_options, ParamListInfo params)
{
	return next_planner ? next_planner(query, source, cursor_options, params)
						: standard_planner(query, source, cursor_options, params);
}
