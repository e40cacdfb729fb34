/*
 * group_shards.h: a table's shards by the group that has them.
 */
#ifndef PANDO_METADATA_GROUP_SHARDS_H
#define PANDO_METADATA_GROUP_SHARDS_H

#include "pando/compat/compat.h"

#include "pando/metadata/table.h"

/* Fills in the table's `groups` from its shards, in the current memory context. */
extern void group_shards_load(DistTable *table);

#endif
