/*
 * steps.h: statements with several writes as a sequence of steps.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_STEPS_H
#define PANDO_PLANNER_STEPS_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/*
 * The plan of a statement with data-modifying WITH queries, or whose RETURNING is
 * computed here. Raises feature_not_supported where PostgreSQL's result could differ.
 */
extern PlannedStmt *plan_in_steps(Query *query, int cursor_options, ParamListInfo params);

#endif
