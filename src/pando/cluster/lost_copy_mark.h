/*
 * lost_copy_mark.h: copies of shards that are marked as lost, and nodes that missed it.
 */
#ifndef PANDO_CLUSTER_LOST_COPY_MARK_H
#define PANDO_CLUSTER_LOST_COPY_MARK_H

#include "pando/compat/compat.h"

/* Registers the job that brings nodes up to date; called from cluster_init only. */
extern void lost_copy_mark_init(void);

#endif
