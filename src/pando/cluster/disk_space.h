/*
 * disk_space.h: is there room for a copy of shards on their new nodes?
 */
#ifndef PANDO_CLUSTER_DISK_SPACE_H
#define PANDO_CLUSTER_DISK_SPACE_H

#include "pando/compat/compat.h"

#include "pando/cluster/group_copy.h"

/* Called from the module's init: registers the settings. */
extern void disk_space_init(void);

/* Raises if a node that gets rows would have less of its disk left than
 * citus.desired_percent_disk_available_after_move asks for, by the sizes as they are now.
 */
extern void disk_space_require(const GroupCopy *copy);

#endif
