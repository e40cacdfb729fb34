/*
 * init.h: the copy module's entry, called when the library is loaded.
 */
#ifndef PANDO_COPY_INIT_H
#define PANDO_COPY_INIT_H

/* Registers this module's hooks, methods and settings; called from _PG_init only. */
extern void copy_init(void);

#endif
