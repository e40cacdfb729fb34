/*
 * local_start.h: a fragment whose shard group turns out to be here when it starts.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_LOCAL_START_H
#define PANDO_PLANNER_LOCAL_START_H

#include "pando/compat/compat.h"

/* Hooks; once, when the library is loaded. */
extern void local_start_init(void);

#endif
