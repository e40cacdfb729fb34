/*
 * manage_new.h: new local tables become managed ones at once, where the user wishes so
 * (citus.use_citus_managed_tables).
 */
#ifndef PANDO_CLUSTER_MANAGE_NEW_H
#define PANDO_CLUSTER_MANAGE_NEW_H

#include "pando/compat/compat.h"

extern void manage_new_init(void);

#endif
