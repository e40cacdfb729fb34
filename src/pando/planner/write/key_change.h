/*
 * key_change.h: UPDATE that may give rows another value of the distribution column.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_KEY_CHANGE_H
#define PANDO_PLANNER_KEY_CHANGE_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "pando/metadata/table.h"

/* May the UPDATE change the distribution column of a row? */
extern bool key_may_change(Query *query, const DistTable *target);

/* Is it an UPDATE that is blind and that shards can't make? */
extern bool update_is_past_policies(Query *query, const DistTable *target);

/*
 * The plan of either. `given`: with the policies of its target; moves: key_may_change().
 * Raises an error for what can't be.
 */
extern PlannedStmt *plan_key_change(Query *given, Query *query, const DistTable *target,
									bool moves, int cursor_options, ParamListInfo params);

#endif
