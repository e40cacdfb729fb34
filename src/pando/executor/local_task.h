/*
 * local_task.h: tasks on this node's own placements.
 */
#ifndef PANDO_EXECUTOR_LOCAL_TASK_H
#define PANDO_EXECUTOR_LOCAL_TASK_H

#include "pando/compat/compat.h"

#include "pando/executor/run_local.h"
#include "pando/executor/task.h"

extern int local_tasks_together(FragmentRun *run);
extern LocalQuery *tasks_open_local(FragmentRun *run, List *tasks);
extern LocalQuery *task_open_local(FragmentRun *run, Task *task, bool write);
extern void task_close_local(FragmentRun *run, Task *task, LocalQuery *query);

#endif
