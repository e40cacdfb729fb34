/*
 * steps.h: the plan node "Citus Steps": what runs before a statement's main query.
 */
#ifndef PANDO_EXECUTOR_STEPS_H
#define PANDO_EXECUTOR_STEPS_H

#include "pando/compat/compat.h"
#include "nodes/plannodes.h"

extern bool steps_is_plan(const Plan *plan);

/* Registers the plan node PLAN_STEPS, and a look at each statement that starts. */
extern void steps_init(void);

#endif
