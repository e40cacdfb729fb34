/*
 * init.h: the monitor module's entry, called when the library is loaded.
 */
#ifndef PANDO_MONITOR_INIT_H
#define PANDO_MONITOR_INIT_H

/* Registers this module's hooks, methods and settings; called from _PG_init only. */
extern void monitor_init(void);

#endif
