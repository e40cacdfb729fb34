/*
 * union_size.h: how many rows a UNION ALL of a table's shards has.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_UNION_SIZE_H
#define PANDO_PLANNER_UNION_SIZE_H

/* Installs set_rel_pathlist_hook. */
extern void union_size_init(void);

#endif
