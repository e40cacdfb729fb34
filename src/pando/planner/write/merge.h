/*
 * merge.h: MERGE into distributed and reference tables.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_WRITE_MERGE_H
#define PANDO_PLANNER_WRITE_MERGE_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "pando/metadata/table.h"

extern PlannedStmt *plan_merge(Query *query, const DistTable *target,
							   ParamListInfo params);

#endif
