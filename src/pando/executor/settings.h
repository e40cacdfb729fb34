/*
 * settings.h: the executor's settings.
 */
#ifndef PANDO_EXECUTOR_SETTINGS_H
#define PANDO_EXECUTOR_SETTINGS_H

#include "pando/compat/compat.h"

typedef enum AssignmentPolicy
{
	ASSIGN_GREEDY,
	ASSIGN_ROUND_ROBIN,
	ASSIGN_FIRST_REPLICA
} AssignmentPolicy;
typedef enum ExplainSort
{
	EXPLAIN_SORT_TIME,
	EXPLAIN_SORT_TASK
} ExplainSort;
extern int executor_assignment_policy;
extern bool executor_binary_protocol;
extern bool executor_explain_all_tasks;
extern bool executor_explain_tasks;
extern bool executor_log_results;
extern int executor_explain_sort;
extern int executor_max_result_size; /* kB; -1: no limit */
extern bool executor_sequential_writes;
extern bool executor_sort_returning;
extern int executor_slow_start_ms;
extern int executor_pool_size;
extern bool executor_force_spread;

#endif
