/*
 * group_switch.h: online copies of the transaction that are filled and wait for their
 * switch.
 */
#ifndef PANDO_CLUSTER_GROUP_SWITCH_H
#define PANDO_CLUSTER_GROUP_SWITCH_H

#include "pando/compat/compat.h"

#include "pando/cluster/group_copy.h"

/* Changes the metadata, once the copy is complete and the shells are locked. */
typedef void (*GroupSwitchStep)(const GroupCopy *copy, int kind);

/* A copy that group_copy_prepare() has returned from; all of it lasts as long as the
 * transaction. */
extern void group_switch_add(const GroupCopy *copy, OnlineMove *move,
							 GroupSwitchStep step, int kind);

/* Does any wait? Does one of that shard's group? */
extern bool group_switch_any(void);
extern bool group_switch_waits_for(int64 shard_id);

/* All that wait are switched to, now. Raises if that can't be. */
extern void group_switch_all(void);

/* Around what moves do themselves: it ends no wait. Not where an error is caught. */
extern void group_switch_enter(void);
extern void group_switch_leave(void);

extern void group_switch_init(void);

#endif
