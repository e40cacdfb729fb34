/*
 * settled_plan.h: one plan for prepared statements of other nodes that reach one row.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SETTLED_PLAN_H
#define PANDO_PLANNER_SETTLED_PLAN_H

/* Takes part in planning and in the executor's start. */
extern void settled_plan_init(void);

#endif
