/*
 * init.h: the remote module's entry, called when the library is loaded.
 */
#ifndef PANDO_REMOTE_INIT_H
#define PANDO_REMOTE_INIT_H

/* Defines connection settings, requests shared memory; called from _PG_init only. */
extern void remote_init(void);

#endif
