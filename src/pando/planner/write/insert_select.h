/*
 * insert_select.h: INSERT whose rows come from a query.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_INSERT_SELECT_H
#define PANDO_PLANNER_INSERT_SELECT_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"

/* The fragment of an INSERT whose rows a query gives; NULL: they come from other shard
 * groups. */
extern Fragment *insert_select_fragment(Query *query, const DistTable *target);

/* The SELECT of the INSERT: one output column per column that is inserted. */
extern Query *select_of_insert(Query *insert);

/* INSERT whose rows pass through this node. */
extern PlannedStmt *plan_insert_select(Query *query, const DistTable *target,
									   int cursor_options, ParamListInfo params);

#endif
