/*
 * shell_stats.h: what the planner knows of a distributed table: size and column
 * statistics of the shell, taken from the shards.
 */
#ifndef PANDO_STATISTICS_SHELL_STATS_H
#define PANDO_STATISTICS_SHELL_STATS_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

/* After ANALYZE of the shards: writes pg_class and pg_statistic of these shells (Oids).
 */
extern void shell_stats_gather(List *relids);

/* Registers the job that follows autovacuum; for statistics_init. */
extern void shell_stats_init(void);

#endif
