/*
 * init.h: the planner module's entry, called when the library is loaded.
 */
#ifndef PANDO_PLANNER_INIT_H
#define PANDO_PLANNER_INIT_H

/* Hooks that call PostgreSQL's executor itself: before those of any other module. */
extern void planner_init_first(void);

/* Installs planner_hook and set_rel_pathlist_hook; called from _PG_init only. */
extern void planner_init(void);

#endif
