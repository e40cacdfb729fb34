/*
 * idle_sublink.h: sublinks whose result nobody can ask for.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_IDLE_SUBLINK_H
#define PANDO_PLANNER_IDLE_SUBLINK_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"

/*
 * Takes sublinks from the query, in place, that go when constants are folded, and those
 * in columns that nobody reads. What a plan depends on for functions that are inlined on
 * the way is added to glob.
 */
extern void query_drop_idle_sublinks(Query *query, PlannerGlobal *glob);

#endif
