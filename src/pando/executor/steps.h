/*
 * steps.h: the plan node "Citus Steps": what runs before a statement's main query.
 */
#ifndef PANDO_EXECUTOR_STEPS_H
#define PANDO_EXECUTOR_STEPS_H

#include "pando/compat/compat.h"

/* Registers the plan node PLAN_STEPS, and a look at each statement that starts. */
extern void steps_init(void);

#endif
