/*
 * settled_plan.h: one plan for another node's prepared statement whose values change
 * little.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SETTLED_PLAN_H
#define PANDO_PLANNER_SETTLED_PLAN_H

/* Takes part in the executor's start. */
extern void settled_plan_init(void);

#endif
