/*
 * write.h: which way a write of a distributed table goes.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_WRITE_H
#define PANDO_PLANNER_WRITE_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/*
 * A plan for a statement that changes a table; NULL when its target is not distributed:
 * then what it reads decides, as for a SELECT.
 */
extern PlannedStmt *plan_write(Query *query, int cursor_options, ParamListInfo params);

#endif
