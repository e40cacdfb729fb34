/*
 * batched_lookup.h: runs a nested loop over shards, many rows at a time.
 *
 * Internal to the executor module.
 */
#ifndef PANDO_EXECUTOR_BATCHED_LOOKUP_H
#define PANDO_EXECUTOR_BATCHED_LOOKUP_H

#include "pando/compat/compat.h"

/* Once, when the library is loaded. */
extern void batched_lookup_register(void);

#endif
