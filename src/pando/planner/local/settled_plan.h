/*
 * settled_plan.h: one plan for prepared statements of other nodes that reach one row.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SETTLED_PLAN_H
#define PANDO_PLANNER_SETTLED_PLAN_H

/* Installs planner_hook and ExecutorStart_hook. */
extern void settled_plan_init(void);

#endif
