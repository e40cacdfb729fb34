/*
 * kept_text.h: texts of tasks, kept from one execution of a fragment to the next.
 */
#ifndef PANDO_EXECUTOR_KEPT_TEXT_H
#define PANDO_EXECUTOR_KEPT_TEXT_H

#include "pando/compat/compat.h"

/* The text that was kept for a fragment (its id) and shard group; NULL if none was. */
extern const char *kept_text_find(uint64 fragment, int shard_index);

/* Keeps a copy until a distributed table changes or room is needed. */
extern void kept_text_add(uint64 fragment, int shard_index, const char *text);

#endif
