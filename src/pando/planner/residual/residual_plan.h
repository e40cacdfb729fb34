/*
 * residual_plan.h: the plan of what is left of a statement when its fragments are cut
 * out.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_RESIDUAL_PLAN_H
#define PANDO_PLANNER_RESIDUAL_PLAN_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/*
 * Plans a residual query (whose fragment RTEs came from fragment_rte) with
 * standard_planner; adds the relations of `original` to the plan for locks, permission
 * checks and invalidation.
 */
extern PlannedStmt *residual_planned_stmt(Query *original, Query *residual,
										  int cursor_options, ParamListInfo params);

#endif
