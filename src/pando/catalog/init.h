/*
 * init.h: what catalog registers when the library is loaded.
 */
#ifndef PANDO_CATALOG_INIT_H
#define PANDO_CATALOG_INIT_H

/* Defines settings; called from _PG_init only. */
extern void catalog_init(void);

#endif
