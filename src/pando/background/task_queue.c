/*
 * task_queue.c: starts executors for the tasks of background jobs, and follows them.
 *
 * A job of the maintenance worker: there is one per database, so nobody else starts
 * tasks. It keeps a list of the executors it knows of; each round it looks what has
 * become of them, lets tasks run that waited for those that are done, interrupts those
 * whose task is to be cancelled, and starts more. What is in the catalogs is all that
 * counts: a worker that starts anew, or met an error, reviews all jobs once. An executor
 * that ends says so (WISH_TASKS); one that died is missed within a second.
 */
#include "pando/compat/compat.h"

#include <limits.h>
#include <signal.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "pando/background/job_state.h"
#include "pando/background/task_queue.h"
#include "pando/base/int_map.h"
#include "pando/catalog/catalog.h"
#include "pando/metadata/table.h"
#include "pando/transaction/maintenance.h"

#define LOOK_MS 1000

typedef struct Executor
{
	int64 task_id;
	int64 job_id;
	int32 retry_count; /* of the task when it was started */
	List *nodes;
	BackgroundWorkerHandle *handle; /* NULL: an earlier worker started it */
} Executor;

static int queue_interval = 5000;
static int max_executors = 1;
static int max_executors_per_node = 1;

static List *executors = NIL;	 /* in TopMemoryContext, as all in it */
static bool reviewed = false;	 /* the list and the catalogs are known to agree */
static TimestampTz next_due = 0; /* when the next task is tried again; 0: none waits */

/* ------------------------------------------------------------------------------------
 * The list.
 */

static bool
is_listed(int64 task_id)
{
	foreach_ptr (Executor, executor, executors)
	{
		if (executor->task_id == task_id)
			return true;
	}
	return false;
}

static Executor *
list_add(const TaskRow *task)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	Executor *executor = palloc0(sizeof(Executor));

	executor->task_id = task->task_id;
	executor->job_id = task->job_id;
	executor->retry_count = task->retry_count;
	executor->nodes = list_copy(task->nodes_involved);
	executors = lappend(executors, executor);
	MemoryContextSwitchTo(old);
	return executor;
}

static void
list_drop(Executor *executor)
{
	executors = list_delete_ptr(executors, executor);
	list_free(executor->nodes);
	if (executor->handle != NULL)
		pfree(executor->handle);
	pfree(executor);
}

static bool
has_stopped(const Executor *executor)
{
	pid_t pid;

	return executor->handle == NULL ||
		   GetBackgroundWorkerPid(executor->handle, &pid) == BGWH_STOPPED;
}

/* ------------------------------------------------------------------------------------
 * What has become of tasks.
 */

/* The task of an executor that is no more: it had no time to say why. */
static bool
is_orphan(const TaskRow *task)
{
	const TaskRow *again;

	if (task_is_held(task->task_id))
		return false;
	/* It may have ended in this moment. */
	again = catalog_task_find(task->task_id);
	return again != NULL && strcmp(again->status, task->status) == 0;
}

/* Looks after one executor; true when it has none of our attention any more. */
static bool
follow(Executor *executor)
{
	TaskRow *task = catalog_task_find(executor->task_id);

	if (task == NULL)
		return true;
	if (task_is(task, TASK_RUNNABLE))
	{
		if (task->retry_count != executor->retry_count)
			return true;
		if (!has_stopped(executor) || task_is_held(task->task_id))
			return false;
		if (!job_lock(task->job_id, ExclusiveLock, false))
			return false;
		task = catalog_task_find(executor->task_id);
		if (task == NULL || !task_is(task, TASK_RUNNABLE) ||
			task->retry_count != executor->retry_count)
			return false;
		task_failed(task,
					"ERROR: the task's executor could not begin\n"
					"HINT: The server's log says why.",
					false);
		job_review(task->job_id);
		return true;
	}
	if (!job_lock(task->job_id, ExclusiveLock, false))
		return false;
	task = catalog_task_find(executor->task_id);
	if (task == NULL)
		return true;
	if (task_is(task, TASK_RUNNING) || task_is(task, TASK_CANCELLING))
	{
		if (!is_orphan(task))
		{
			if (task_is(task, TASK_CANCELLING) && task->pid > 0)
				(void) kill(task->pid, SIGINT);
			return false;
		}
		task_failed(task, "ERROR: the task's executor ended before the task", false);
	}
	if (task_is_over(task))
		task_settle(task);
	else
		job_review(task->job_id);
	return true;
}

static void
follow_all(void)
{
	foreach_ptr (Executor, executor, list_copy(executors))
	{
		if (follow(executor))
			list_drop(executor);
	}
}

/* Makes the list, and whatever an earlier worker did not come to, agree with the
 * catalogs; false if a job could not be looked at. */
static bool
review_all(void)
{
	bool all = true;

	foreach_ptr (JobRow, job, catalog_job_open())
	{
		if (!job_lock(job->job_id, ExclusiveLock, false))
		{
			all = false;
			continue;
		}
		foreach_ptr (TaskRow, seen, catalog_task_by_job(job->job_id))
		{
			/* One that came before may have changed it. */
			TaskRow *task =
				task_is(seen, TASK_BLOCKED) ? catalog_task_find(seen->task_id) : seen;

			if (task_is(task, TASK_BLOCKED))
				task_unblock(task);
			else if (task_is(task, TASK_ERROR) || task_is(task, TASK_CANCELLED))
				task_settle(task);
			else if (!task_is_over(task) && !task_is(task, TASK_RUNNABLE) &&
					 !is_listed(task->task_id))
				(void) list_add(task);
		}
		job_review(job->job_id);
	}
	return all;
}

/* ------------------------------------------------------------------------------------
 * Starting.
 */

/* Nobody can be logged in as the owner: the reason; NULL if somebody can. */
static const char *
owner_obstacle(Oid owner)
{
	HeapTuple tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(owner));
	bool can_login;

	if (!HeapTupleIsValid(tuple))
		return "ERROR: the task's owner does not exist any more";
	can_login = ((Form_pg_authid) GETSTRUCT(tuple))->rolcanlogin;
	ReleaseSysCache(tuple);
	return can_login ? NULL : "ERROR: the task's owner is not permitted to log in";
}

static bool
nodes_have_room(const TaskRow *task)
{
	ListCell *cell;

	foreach (cell, task->nodes_involved)
	{
		int busy = 0;

		foreach_ptr (Executor, executor, executors)
			busy += list_member_int(executor->nodes, lfirst_int(cell));
		if (busy >= max_executors_per_node)
			return false;
	}
	return true;
}

static void
start_executor(const TaskRow *task)
{
	BackgroundWorker worker = {0};
	TaskStart start = {
		.database = MyDatabaseId, .owner = task->owner, .task_id = task->task_id};
	BackgroundWorkerHandle *handle = NULL;
	MemoryContext old;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	memcpy(worker.bgw_extra, &start, sizeof(start));
	strlcpy(worker.bgw_library_name, "pando", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "background_executor_main", BGW_MAXLEN);
	snprintf(worker.bgw_name, BGW_MAXLEN, "pando task " INT64_FORMAT, task->task_id);
	strlcpy(worker.bgw_type, "pando task executor", BGW_MAXLEN);
	old = MemoryContextSwitchTo(TopMemoryContext);
	if (RegisterDynamicBackgroundWorker(&worker, &handle))
		list_add(task)->handle = handle;
	else
		ereport(LOG, (errmsg("could not start an executor for a background task"),
					  errhint("Raise max_worker_processes.")));
	MemoryContextSwitchTo(old);
}

static void
note_started(JobRow *job)
{
	if (!job_is(job, JOB_SCHEDULED))
		return;
	job->state = JOB_RUNNING;
	job->started_at = GetCurrentTimestamp();
	catalog_job_update(job);
	CommandCounterIncrement();
}

static void
start_task(TaskRow *task)
{
	JobRow *job;
	const char *obstacle;

	if (!job_lock(task->job_id, ExclusiveLock, false))
		return;
	task = catalog_task_find(task->task_id);
	job = task == NULL ? NULL : catalog_job_find(task->job_id);
	if (job == NULL || !task_is(task, TASK_RUNNABLE))
		return;
	note_started(job);
	obstacle = owner_obstacle(task->owner);
	if (obstacle == NULL)
		start_executor(task);
	else
	{
		task_failed(task, obstacle, true);
		task_settle(task);
	}
}

static void
start_all(void)
{
	next_due = 0;
	foreach_ptr (TaskRow, task, catalog_task_by_status(TASK_RUNNABLE))
	{
		if (list_length(executors) >= max_executors)
			return;
		if (is_listed(task->task_id))
			continue;
		if (task->not_before > GetCurrentTimestamp())
		{
			if (next_due == 0 || task->not_before < next_due)
				next_due = task->not_before;
			continue;
		}
		if (nodes_have_room(task))
			start_task(task);
	}
}

/* ------------------------------------------------------------------------------------
 * The maintenance job.
 */

static int
queue_due(void)
{
	long wait = queue_interval;

	if (queue_interval < 0)
		return -1;
	if (executors != NIL || !reviewed)
		wait = Min(wait, LOOK_MS);
	if (next_due != 0)
		wait =
			Min(wait, TimestampDifferenceMilliseconds(GetCurrentTimestamp(), next_due));
	return (int) wait;
}

static void
look(bool *all)
{
	if (!*all)
		*all = review_all();
	follow_all();
}

static void
start(bool *all)
{
	start_all();
}

/* In a transaction of its own: what executors are started for is there then. */
static void
queue_step(void (*step)(bool *all), bool *all)
{
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	if (metadata_active())
		step(all);
	PopActiveSnapshot();
	CommitTransactionCommand();
}

static void
queue_run(void)
{
	bool all = reviewed;

	/* An error leaves it so. */
	reviewed = false;
	queue_step(look, &all);
	queue_step(start, &all);
	reviewed = all;
}

void
task_queue_init(void)
{
	static const MaintenanceJob job = {.name = "background jobs",
									   .interval = queue_due,
									   .run = queue_run,
									   .own_transactions = true,
									   .wish = WISH_TASKS};

	DefineCustomIntVariable(
		"citus.background_task_queue_interval",
		"Time between looks for background tasks that nobody told of.",
		"-1: no task is started. Tasks of citus_rebalance_start() are told of.",
		&queue_interval, 5000, -1, 7 * 24 * 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS, NULL,
		NULL, NULL);
	DefineCustomIntVariable("citus.max_background_task_executors",
							"Background tasks that run at once, in each database.",
							"Each takes one of max_worker_processes.", &max_executors, 1,
							1, 1024, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.max_background_task_executors_per_node",
							"Background tasks at once that concern the same node.", NULL,
							&max_executors_per_node, 1, 1, 128, PGC_SIGHUP, 0, NULL, NULL,
							NULL);
	maintenance_register(&job);
}
