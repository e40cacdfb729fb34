/*
 * init.h: the ddl module's entry, called when the library is loaded.
 */
#ifndef PANDO_DDL_INIT_H
#define PANDO_DDL_INIT_H

/* Registers this module's hooks, methods and settings; called from _PG_init only. */
extern void ddl_init(void);

#endif
