/*
 * triggers.h: the plan nodes "Citus Triggers", whose row triggers fire in this backend,
 * and "Citus Read First".
 */
#ifndef PANDO_EXECUTOR_TRIGGERS_H
#define PANDO_EXECUTOR_TRIGGERS_H

#include "pando/compat/compat.h"

/* Registers the plan nodes PLAN_TRIGGERS and PLAN_READ_FIRST. */
extern void triggers_init(void);

#endif
