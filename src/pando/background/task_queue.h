/*
 * task_queue.h: the maintenance worker's part in background jobs.
 */
#ifndef PANDO_BACKGROUND_TASK_QUEUE_H
#define PANDO_BACKGROUND_TASK_QUEUE_H

#include "pando/compat/compat.h"

/* What an executor is told, in its bgw_extra. */
typedef struct TaskStart
{
	Oid database;
	Oid owner;
	int64 task_id;
} TaskStart;

/* Registers the maintenance job and its settings. */
extern void task_queue_init(void);

#endif
