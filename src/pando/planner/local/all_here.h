/*
 * all_here.h: queries whose shards are all on this node, planned by PostgreSQL.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_ALL_HERE_H
#define PANDO_PLANNER_ALL_HERE_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* The plan of a SELECT that needs no other node; NULL: it does, or is explained, which
 * shows tasks. */
extern PlannedStmt *plan_all_here(Query *query, const char *source, int cursor_options,
								  ParamListInfo params);

#endif
