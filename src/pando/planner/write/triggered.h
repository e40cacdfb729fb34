/*
 * triggered.h: changes of tables whose triggers fire in the client's backend.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_TRIGGERED_H
#define PANDO_PLANNER_TRIGGERED_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "pando/metadata/table.h"

/* Does the change (or one of the actions of a MERGE) fire triggers here? The same way
 * goes an INSERT whose ON CONFLICT gives a row another value of the distribution column.
 */
extern bool change_fires_here(const Query *query, const DistTable *target);

/* The same of the statement and of those in its WITH. */
extern bool statement_fires_here(const Query *query);

/*
 * The plan of such an INSERT, UPDATE or DELETE. `given`: with the policies of its target.
 * Raises an error for what can't be.
 */
extern PlannedStmt *plan_triggered(Query *given, Query *query, const DistTable *target,
								   int cursor_options, ParamListInfo params);

/* As plan_any_query(); no change in it fires triggers here. */
extern PlannedStmt *plan_firing_nothing(Query *query, int cursor_options,
										ParamListInfo params);

extern void triggered_init(void);

#endif
