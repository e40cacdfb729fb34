/*
 * shard_choice.h: runs the one child that has the rows of a key.
 *
 * Internal to the executor module.
 */
#ifndef PANDO_EXECUTOR_SHARD_CHOICE_H
#define PANDO_EXECUTOR_SHARD_CHOICE_H

#include "pando/compat/compat.h"

/* Once, when the library is loaded. */
extern void shard_choice_register(void);

#endif
