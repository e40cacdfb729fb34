/*
 * init.h: the transaction module's entry, called when the library is loaded.
 */
#ifndef PANDO_TRANSACTION_INIT_H
#define PANDO_TRANSACTION_INIT_H

/* Registers transaction callbacks and settings; called from _PG_init only. */
extern void transaction_init(void);

#endif
