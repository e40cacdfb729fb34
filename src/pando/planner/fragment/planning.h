/*
 * planning.h: planning again, within the planning of a statement.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_PLANNING_H
#define PANDO_PLANNER_PLANNING_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

typedef PlannedStmt *(*PlanAny)(Query *query, int cursor_options, ParamListInfo params);

/* What plan_any_query() is. */
extern void planning_init(PlanAny any);

/* Plans a piece of a statement, with or without distributed tables. */
extern PlannedStmt *plan_any_query(Query *query, int cursor_options,
								   ParamListInfo params);

/* Plans a query without distributed tables by PostgreSQL itself. */
extern PlannedStmt *plan_locally(Query *query, const char *source, int cursor_options,
								 ParamListInfo params);

#endif
