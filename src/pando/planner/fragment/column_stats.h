/*
 * column_stats.h: statistics of columns that are no table's.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_COLUMN_STATS_H
#define PANDO_PLANNER_COLUMN_STATS_H

/* The name of the WITH query of per_node.c, by which nodes know such statements. */
#define TASK_ROWS "task_rows"

/* The name of the rows that stand for a sublink of a fragment's query (broadcast.c). */
#define SUBLINK_ROWS "intermediate_result"

/* Installs get_relation_stats_hook. */
extern void column_stats_init(void);

#endif
