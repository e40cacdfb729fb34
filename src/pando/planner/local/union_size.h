/*
 * union_size.h: how many rows a UNION ALL of a table's shards has.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_UNION_SIZE_H
#define PANDO_PLANNER_UNION_SIZE_H

/* Takes part in making paths; once, when the library is loaded. */
extern void union_size_init(void);

#endif
