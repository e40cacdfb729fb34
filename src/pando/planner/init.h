/*
 * init.h: the planner module's entry, called when the library is loaded.
 */
#ifndef PANDO_PLANNER_INIT_H
#define PANDO_PLANNER_INIT_H

/* Registers this module's hooks, methods and settings; called from _PG_init only. */
extern void planner_init(void);

#endif
