/*
 * init.h: what base registers when the library is loaded.
 */
#ifndef PANDO_BASE_INIT_H
#define PANDO_BASE_INIT_H

/* Requests shared memory and defines settings; called from _PG_init only. */
extern void base_init(void);

#endif
