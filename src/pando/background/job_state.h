/*
 * job_state.h: how background jobs and their tasks go from state to state.
 *
 *   blocked -> runnable       the tasks that it depends on are done    (the queue)
 *   blocked -> unscheduled    one of them will never be                (the queue)
 *   runnable -> running       its executor has begun                   (the executor)
 *   running -> done           in the transaction of the work itself    (the executor)
 *   running -> runnable       it failed and is tried again, not before a while
 *   running -> error          it failed for good (both by the executor; by the queue
 *                             when the executor is gone without a word)
 *   blocked, runnable -> cancelled, running -> cancelling              (citus_job_cancel)
 *   cancelling -> cancelled   the executor has stopped
 *
 * Who changes tasks of a job locks the job: executors each their own task, in SHARE
 * mode; the queue and who cancels, which change others' tasks as well, EXCLUSIVE.
 * An executor holds a lock on its task while it lives.
 */
#ifndef PANDO_BACKGROUND_JOB_STATE_H
#define PANDO_BACKGROUND_JOB_STATE_H

#include "pando/compat/compat.h"
#include "storage/lock.h"

#include "pando/catalog/job.h"

/* Labels of citus_job_status. */
#define JOB_SCHEDULED "scheduled"
#define JOB_RUNNING "running"
#define JOB_FINISHED "finished"
#define JOB_CANCELLING "cancelling"
#define JOB_CANCELLED "cancelled"
#define JOB_FAILING "failing"
#define JOB_FAILED "failed"

/* Labels of citus_task_status. */
#define TASK_BLOCKED "blocked"
#define TASK_RUNNABLE "runnable"
#define TASK_RUNNING "running"
#define TASK_DONE "done"
#define TASK_CANCELLING "cancelling"
#define TASK_ERROR "error"
#define TASK_UNSCHEDULED "unscheduled"
#define TASK_CANCELLED "cancelled"

static inline bool
job_is(const JobRow *job, const char *state)
{
	return strcmp(job->state, state) == 0;
}

static inline bool
task_is(const TaskRow *task, const char *status)
{
	return strcmp(task->status, status) == 0;
}

/* Nothing will change any more. */
extern bool job_is_over(const JobRow *job);
extern bool task_is_over(const TaskRow *task);

/* To the end of the transaction; false if `wait` is not wished and it can't be had. */
extern bool job_lock(int64 job_id, LOCKMODE mode, bool wait);

/* The lock of a living executor on its task, to the end of the session. */
extern void task_hold(int64 task_id);
extern void task_release(int64 task_id);
extern bool task_is_held(int64 task_id);

/*
 * An attempt at the task has failed, or the task was cancelled meanwhile: what is next.
 * `for_good`: another attempt would fail as well. The job is locked.
 */
extern void task_failed(TaskRow *task, const char *message, bool for_good);

/* Frees what waited for the task, or gives it up; then tells what that means for the job.
 * The job is locked EXCLUSIVE. */
extern void task_settle(const TaskRow *task);
extern void task_unblock(TaskRow *task);
extern void job_review(int64 job_id);

#endif
