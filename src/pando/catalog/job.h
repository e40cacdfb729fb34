/*
 * job.h: rows of pg_dist_background_job, pg_dist_background_task and
 * pg_dist_background_task_depend.
 */
#ifndef PANDO_CATALOG_JOB_H
#define PANDO_CATALOG_JOB_H

#include "pando/compat/compat.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

typedef struct JobRow
{
	int64 job_id;
	char *state;
	char *job_type;
	char *description;
	TimestampTz started_at; /* 0: not yet, as the next one */
	TimestampTz finished_at;
} JobRow;

typedef struct TaskRow
{
	int64 job_id;
	int64 task_id;
	Oid owner;
	int32 pid; /* -1: none */
	char *status;
	char *command;
	int32 retry_count;
	TimestampTz not_before; /* 0: at once */
	char *message;			/* NULL: none */
	List *nodes_involved;	/* node ids (int) */
} TaskRow;

typedef struct TaskDependRow
{
	int64 job_id;
	int64 task_id;
	int64 depends_on; /* a task of the same job */
} TaskDependRow;

/* These choose the id; lists of TaskRow * and TaskDependRow *. */
extern void catalog_job_add(JobRow *row);
extern int64 catalog_task_next_id(void);
extern void catalog_task_add_all(List *rows);
extern void catalog_task_depend_add_all(List *rows);

extern JobRow *catalog_job_find(int64 job_id); /* NULL: none */
extern List *catalog_job_open(void);		   /* those that are not over */
extern void catalog_job_update(const JobRow *row);

/* In order of task id. */
extern TaskRow *catalog_task_find(int64 task_id); /* NULL: none */
extern List *catalog_task_by_status(const char *status);
extern List *catalog_task_by_job(int64 job_id);
extern bool catalog_job_has_task(int64 job_id, const char *status);
extern void catalog_task_update(const TaskRow *row);

extern List *catalog_task_depend_on(int64 job_id, int64 depends_on);
extern List *catalog_task_depend_of(int64 job_id, int64 task_id);

#endif
