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

/* Does RETURNING need this node: subqueries in an INSERT's, or what no shard evaluates?
 */
extern bool returning_is_computed_here(Query *query);

/*
 * The plan of a statement with data-modifying WITH queries, or whose RETURNING is
 * computed here. Raises feature_not_supported where PostgreSQL's result could differ.
 */
extern PlannedStmt *plan_in_steps(Query *query, int cursor_options, ParamListInfo params);

#endif
