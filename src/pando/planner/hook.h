/*
 * hook.h: planning within the planner module.
 */
#ifndef PANDO_PLANNER_HOOK_H
#define PANDO_PLANNER_HOOK_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/*
 * While it is set, queries on shell tables are planned as on the plain, empty tables that
 * they are: a schema change makes PostgreSQL look at the shell (to validate a foreign
 * key). Who sets it resets it, also on error.
 */
extern bool plan_shells;

/* Plans a piece of a statement, with or without distributed tables. */
extern PlannedStmt *plan_any_query(Query *query, int cursor_options,
								   ParamListInfo params);

/* Plans a query without distributed tables by PostgreSQL itself. */
extern PlannedStmt *plan_locally(Query *query, const char *source, int cursor_options,
								 ParamListInfo params);

#endif
