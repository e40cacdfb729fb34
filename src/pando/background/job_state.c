/*
 * job_state.c: how background jobs and their tasks go from state to state.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "pando/background/job_state.h"

/* Attempts: the first one after a second, then twice as late each time, up to a minute.
 */
#define FIRST_RETRY_MS 1000
#define LAST_RETRY_MS 60000
#define MAX_RETRIES 30

/* Fourth fields of the locks, whose others are the database and the id. */
#define LOCK_OF_TASK 1
#define LOCK_OF_JOB 2

bool
job_is_over(const JobRow *job)
{
	return job_is(job, JOB_FINISHED) || job_is(job, JOB_CANCELLED) ||
		   job_is(job, JOB_FAILED);
}

bool
task_is_over(const TaskRow *task)
{
	return task_is(task, TASK_DONE) || task_is(task, TASK_ERROR) ||
		   task_is(task, TASK_UNSCHEDULED) || task_is(task, TASK_CANCELLED);
}

/* ------------------------------------------------------------------------------------
 * Locks.
 */

static LOCKTAG
tag_of(int64 id, int what)
{
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (id >> 32), (uint32) id, what);
	tag.locktag_type = LOCKTAG_USERLOCK;
	return tag;
}

bool
job_lock(int64 job_id, LOCKMODE mode, bool wait)
{
	LOCKTAG tag = tag_of(job_id, LOCK_OF_JOB);

	return LockAcquire(&tag, mode, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

void
task_hold(int64 task_id)
{
	LOCKTAG tag = tag_of(task_id, LOCK_OF_TASK);

	(void) LockAcquire(&tag, ExclusiveLock, true, false);
}

void
task_release(int64 task_id)
{
	LOCKTAG tag = tag_of(task_id, LOCK_OF_TASK);

	(void) LockRelease(&tag, ExclusiveLock, true);
}

bool
task_is_held(int64 task_id)
{
	LOCKTAG tag = tag_of(task_id, LOCK_OF_TASK);

	if (LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	(void) LockRelease(&tag, ExclusiveLock, false);
	return false;
}

/* ------------------------------------------------------------------------------------
 * Changes.
 */

static void
task_set(TaskRow *task, const char *status)
{
	task->status = unconstify(char *, status);
	catalog_task_update(task);
	CommandCounterIncrement();
}

void
task_failed(TaskRow *task, const char *message, bool for_good)
{
	task->pid = -1;
	if (task_is(task, TASK_CANCELLING))
	{
		task_set(task, TASK_CANCELLED);
		return;
	}
	task->message = unconstify(char *, message);
	if (for_good || task->retry_count >= MAX_RETRIES)
	{
		task_set(task, TASK_ERROR);
		return;
	}
	task->not_before = TimestampTzPlusMilliseconds(
		GetCurrentTimestamp(),
		Min(FIRST_RETRY_MS << Min(task->retry_count, 10), LAST_RETRY_MS));
	task->retry_count++;
	task_set(task, TASK_RUNNABLE);
}

void
task_unblock(TaskRow *task)
{
	foreach_ptr (TaskDependRow, on, catalog_task_depend_of(task->job_id, task->task_id))
	{
		TaskRow *first = catalog_task_find(on->depends_on);

		if (first != NULL && !task_is(first, TASK_DONE))
			return;
	}
	task_set(task, TASK_RUNNABLE);
}

/* Tasks that will never run since one that they depend on did not succeed. */
static void
give_up_dependent(const TaskRow *failed)
{
	List *todo = list_make1(unconstify(TaskRow *, failed));

	while (todo != NIL)
	{
		const TaskRow *task = llast(todo);

		todo = list_delete_last(todo);
		CHECK_FOR_INTERRUPTS();
		foreach_ptr (TaskDependRow, on,
					 catalog_task_depend_on(task->job_id, task->task_id))
		{
			TaskRow *next = catalog_task_find(on->task_id);

			if (next == NULL || !task_is(next, TASK_BLOCKED))
				continue;
			task_set(next, TASK_UNSCHEDULED);
			todo = lappend(todo, next);
		}
	}
}

void
task_settle(const TaskRow *task)
{
	if (!task_is(task, TASK_DONE))
		give_up_dependent(task);
	else
	{
		foreach_ptr (TaskDependRow, on,
					 catalog_task_depend_on(task->job_id, task->task_id))
		{
			TaskRow *next = catalog_task_find(on->task_id);

			if (next != NULL && task_is(next, TASK_BLOCKED))
				task_unblock(next);
		}
	}
	job_review(task->job_id);
}

void
job_review(int64 job_id)
{
	JobRow *job = catalog_job_find(job_id);
	bool bad;

	if (job == NULL || job_is_over(job))
		return;
	bad = catalog_job_has_task(job_id, TASK_ERROR);
	if (catalog_job_has_task(job_id, TASK_RUNNING) ||
		catalog_job_has_task(job_id, TASK_CANCELLING) ||
		catalog_job_has_task(job_id, TASK_RUNNABLE) ||
		catalog_job_has_task(job_id, TASK_BLOCKED))
	{
		if (!bad || job_is(job, JOB_CANCELLING) || job_is(job, JOB_FAILING))
			return;
		job->state = JOB_FAILING;
	}
	else
	{
		job->state = catalog_job_has_task(job_id, TASK_CANCELLED) ? JOB_CANCELLED
					 : bad										  ? JOB_FAILED
																  : JOB_FINISHED;
		job->finished_at = GetCurrentTimestamp();
	}
	catalog_job_update(job);
	CommandCounterIncrement();
}
