/*
 * init.h: the cluster module's entry, called when the library is loaded.
 */
#ifndef PANDO_CLUSTER_INIT_H
#define PANDO_CLUSTER_INIT_H

/* Registers this module's hooks, methods and settings; called from _PG_init only. */
extern void cluster_init(void);

#endif
