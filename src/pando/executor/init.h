/*
 * init.h: the executor module's entry, called when the library is loaded.
 */
#ifndef PANDO_EXECUTOR_INIT_H
#define PANDO_EXECUTOR_INIT_H

/* Registers this module's hooks, methods and settings; called from _PG_init only. */
extern void executor_init(void);

#endif
