/*
 * plan_members.h: the plans in a plan.
 */
#ifndef PANDO_PLAN_MEMBERS_H
#define PANDO_PLAN_MEMBERS_H

#include "pando/compat/compat.h"
#include "nodes/plannodes.h"

/* Those a node reads that are neither its outer plan nor its inner one: Plans; not to be
 * changed. */
extern List *plan_members(const Plan *plan);

#endif
