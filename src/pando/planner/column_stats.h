/*
 * column_stats.h: statistics of columns that are no table's.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_COLUMN_STATS_H
#define PANDO_PLANNER_COLUMN_STATS_H

/* The name of the WITH query of per_node.c, by which nodes know such statements. */
#define TASK_ROWS "task_rows"

/* Installs get_relation_stats_hook. */
extern void column_stats_init(void);

#endif
