/*
 * schema.h: distributed schemas (schema-based sharding).
 */
#ifndef PANDO_CLUSTER_SCHEMA_H
#define PANDO_CLUSTER_SCHEMA_H

#include "pando/compat/compat.h"

/* Defines the setting and follows what comes into such schemas; from cluster_init only. */
extern void schema_init(void);

#endif
