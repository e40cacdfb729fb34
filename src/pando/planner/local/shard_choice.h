/*
 * shard_choice.h: of an Append of shards, the one shard where a key's rows are.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SHARD_CHOICE_H
#define PANDO_PLANNER_SHARD_CHOICE_H

#include "pando/compat/compat.h"

/* A hook; once, when the library is loaded. */
extern void shard_choice_init(void);

#endif
