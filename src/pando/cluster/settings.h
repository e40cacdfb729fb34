/*
 * settings.h: settings of the cluster module.
 */
#ifndef PANDO_CLUSTER_SETTINGS_H
#define PANDO_CLUSTER_SETTINGS_H

#include "pando/compat/compat.h"

#define MAX_SHARD_COUNT 64000

extern int setting_shard_count;
extern int setting_shard_replication_factor;

#endif
