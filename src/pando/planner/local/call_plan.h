/*
 * call_plan.h: queries that are one call of a distributed function.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_CALL_PLAN_H
#define PANDO_PLANNER_CALL_PLAN_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* The plan of a query without distributed tables that is such a call; NULL: it is none.
 */
extern PlannedStmt *plan_call(Query *query, const char *source, int cursor_options,
							  ParamListInfo params);

/* Is it a call that the coordinator may get, by plan_call()? */
extern bool is_call_for_coordinator(Query *query);

#endif
