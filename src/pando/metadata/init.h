/*
 * init.h: what the metadata module registers when the library is loaded.
 */
#ifndef PANDO_METADATA_INIT_H
#define PANDO_METADATA_INIT_H

/* Defines settings; callbacks are registered per backend at first use. From _PG_init
 * only. */
extern void metadata_init(void);

#endif
