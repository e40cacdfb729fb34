/*
 * arrived.h: shards that have come to this node after a transaction's snapshot.
 */
#ifndef PANDO_EXECUTOR_ARRIVED_H
#define PANDO_EXECUTOR_ARRIVED_H

extern void arrived_init(void);

#endif
