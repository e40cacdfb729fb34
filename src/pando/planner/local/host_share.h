/*
 * host_share.h: how many processes one node's part of a statement may have.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_HOST_SHARE_H
#define PANDO_PLANNER_HOST_SHARE_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* plan_locally(), with no more parallel workers than this node's share of its host. */
extern PlannedStmt *plan_within_share(Query *query, const char *source,
									  int cursor_options, ParamListInfo params);

/* Defines the setting; once, when the library is loaded. */
extern void host_share_init(void);

#endif
