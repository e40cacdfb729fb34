/*
 * init.h: the statistics module's entry, called when the library is loaded.
 */
#ifndef PANDO_STATISTICS_INIT_H
#define PANDO_STATISTICS_INIT_H

/* Registers this module's hooks and jobs; called from _PG_init only. */
extern void statistics_init(void);

#endif
