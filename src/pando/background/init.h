/*
 * init.h: the background module's entry, called when the library is loaded.
 */
#ifndef PANDO_BACKGROUND_INIT_H
#define PANDO_BACKGROUND_INIT_H

#include "pando/compat/compat.h"

/* Registers this module's hooks, methods and settings; called from _PG_init only. */
extern void background_init(void);

/* Main functions of the processes. */
extern PGDLLEXPORT void background_launcher_main(Datum arg);
extern PGDLLEXPORT void background_worker_main(Datum arg);
extern PGDLLEXPORT void background_executor_main(Datum arg);

#endif
