/*
 * insert_rows.h: INSERT ... VALUES: rows become tasks.
 */
#ifndef PANDO_EXECUTOR_INSERT_ROWS_H
#define PANDO_EXECUTOR_INSERT_ROWS_H

#include "pando/compat/compat.h"

#include "pando/executor/task.h"

extern void insert_rows_tasks(FragmentRun *run);
extern char *insert_rows_text(FragmentRun *run, Task *task, bool inline_values);

#endif
