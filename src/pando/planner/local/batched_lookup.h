/*
 * batched_lookup.h: nested loops that look up many rows in a shard before the next one.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_BATCHED_LOOKUP_H
#define PANDO_PLANNER_BATCHED_LOOKUP_H

#include "pando/compat/compat.h"

/* A hook; once, when the library is loaded. */
extern void batched_lookup_init(void);

#endif
