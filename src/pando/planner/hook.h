/*
 * hook.h: planning within the planner module.
 */
#ifndef PANDO_PLANNER_HOOK_H
#define PANDO_PLANNER_HOOK_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/*
 * While it is set, queries on shell tables are planned as on the plain, empty tables that
 * they are: a schema change makes PostgreSQL look at the shell (to validate a foreign
 * key). Who sets it resets it, also on error.
 */
extern bool plan_shells;

#endif
