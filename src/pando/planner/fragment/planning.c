/*
 * planning.c: planning again, within the planning of a statement.
 *
 * The planner hook is the top of this module; what lies below it reaches it here.
 */
#include "pando/compat/compat.h"

#include "pando/compat/query_form.h"
#include "pando/base/hook.h"
#include "pando/planner/fragment/actions_elsewhere.h"
#include "pando/planner/fragment/planning.h"

static PlanAny plan_any;

void
planning_init(PlanAny any)
{
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
	ActionsElsewhere elsewhere = actions_elsewhere_take(query);
	PlannedStmt *stmt;

	query_form_leave(query);
	stmt = hook_planner_next(PLANNER_STATEMENT, query, source, cursor_options, params);

	actions_elsewhere_plan(stmt, elsewhere);
	return stmt;
}
