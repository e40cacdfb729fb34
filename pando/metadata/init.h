/*
 * init.h: the metadata module's entry, called when the library is loaded.
 */
#ifndef PANDO_METADATA_INIT_H
#define PANDO_METADATA_INIT_H

/* Registers the invalidation callbacks; called from _PG_init only. */
extern void metadata_init(void);

#endif
