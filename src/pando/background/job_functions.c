/*
 * job_functions.c: the SQL functions that wait for background jobs and cancel them.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "pando/background/job_state.h"
#include "pando/base/nap.h"
#include "pando/base/sql.h"
#include "pando/metadata/node.h"
#include "pando/transaction/maintenance.h"

PG_FUNCTION_INFO_V1(citus_job_wait);
PG_FUNCTION_INFO_V1(citus_task_wait);
PG_FUNCTION_INFO_V1(citus_job_cancel);

#define WAIT_MS 100

static JobRow *
require_job(int64 job_id)
{
	JobRow *job;

	node_require_coordinator();
	job = catalog_job_find(job_id);
	if (job == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("could not find job " INT64_FORMAT, job_id)));
	return job;
}

/* ------------------------------------------------------------------------------------
 * Waiting.
 */

/* Nobody else sees what this transaction has added. */
static void
require_committed(const char *table, const char *column, int64 id, const char *what)
{
	char *xmin = sql_value("SELECT xmin::text FROM pg_catalog.%s WHERE %s = " INT64_FORMAT
						   " AND pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL",
						   table, column, id);

	if (xmin != NULL && TransactionIdIsCurrentTransactionId(strtoul(xmin, NULL, 10)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s " INT64_FORMAT " belongs to this transaction", what, id),
				 errhint("It can be waited for when the transaction has "
						 "committed.")));
}

/* The label of the second argument; NULL: none. */
static const char *
desired_label(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(1)
			   ? NULL
			   : DatumGetCString(OidFunctionCall1(F_ENUM_OUT, PG_GETARG_DATUM(1)));
}

/* Is the wait over? Raises when it never will be. */
static bool
reached(const char *what, int64 id, const char *state, bool over, const char *desired)
{
	if (desired == NULL ? over : strcmp(state, desired) == 0)
		return true;
	if (over)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("%s " INT64_FORMAT " has ended as \"%s\" and will not be "
							   "\"%s\"",
							   what, id, state, desired)));
	return false;
}

/* citus_job_wait(jobid, desired_status) */
Datum
citus_job_wait(PG_FUNCTION_ARGS)
{
	int64 job_id;
	const char *desired = desired_label(fcinfo);
	JobRow *job;

	if (PG_ARGISNULL(0))
		PG_RETURN_VOID();
	job_id = PG_GETARG_INT64(0);
	job = require_job(job_id);
	if (!job_is_over(job))
		require_committed("pg_dist_background_job", "job_id", job_id, "job");
	while (!reached("job", job_id, job->state, job_is_over(job), desired))
	{
		nap(WAIT_MS);
		job = require_job(job_id);
	}
	PG_RETURN_VOID();
}

static TaskRow *
require_task(int64 task_id)
{
	TaskRow *task;

	node_require_coordinator();
	task = catalog_task_find(task_id);
	if (task == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("could not find task " INT64_FORMAT, task_id)));
	return task;
}

/* citus_task_wait(taskid, desired_status) */
Datum
citus_task_wait(PG_FUNCTION_ARGS)
{
	int64 task_id;
	const char *desired = desired_label(fcinfo);
	TaskRow *task;

	if (PG_ARGISNULL(0))
		PG_RETURN_VOID();
	task_id = PG_GETARG_INT64(0);
	task = require_task(task_id);
	if (!task_is_over(task))
		require_committed("pg_dist_background_task", "task_id", task_id, "task");
	while (!reached("task", task_id, task->status, task_is_over(task), desired))
	{
		nap(WAIT_MS);
		task = require_task(task_id);
	}
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Cancelling.
 */

/* Who could cancel the owners' statements may cancel their tasks. */
static void
check_rights(List *tasks)
{
	Oid seen = InvalidOid;

	foreach_ptr (TaskRow, task, tasks)
	{
		if (task->owner == seen)
			continue;
		seen = task->owner;
		if (superuser() || has_privs_of_role(GetUserId(), task->owner) ||
			(has_privs_of_role(GetUserId(), ROLE_PG_SIGNAL_BACKEND) &&
			 !superuser_arg(task->owner)))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of the tasks of job " INT64_FORMAT " to cancel it",
						task->job_id)));
	}
}

static void
cancel_task(TaskRow *task, const char *status)
{
	task->status = unconstify(char *, status);
	catalog_task_update(task);
}

/* citus_job_cancel(jobid) */
Datum
citus_job_cancel(PG_FUNCTION_ARGS)
{
	int64 job_id = PG_GETARG_INT64(0);
	JobRow *job = require_job(job_id);
	List *tasks;

	check_rights(catalog_task_by_job(job_id));
	(void) job_lock(job_id, ExclusiveLock, true);
	job = require_job(job_id);
	tasks = catalog_task_by_job(job_id);
	check_rights(tasks);
	if (job_is_over(job))
	{
		ereport(NOTICE, (errmsg("job " INT64_FORMAT " has ended as \"%s\" already",
								job_id, job->state)));
		PG_RETURN_VOID();
	}
	foreach_ptr (TaskRow, task, tasks)
	{
		CHECK_FOR_INTERRUPTS();
		if (task_is(task, TASK_RUNNING))
			cancel_task(task, TASK_CANCELLING);
		else if (task_is(task, TASK_BLOCKED) || task_is(task, TASK_RUNNABLE))
			cancel_task(task, TASK_CANCELLED);
	}
	job->state = JOB_CANCELLING;
	catalog_job_update(job);
	CommandCounterIncrement();
	job_review(job_id);
	maintenance_want_at_commit(WISH_TASKS);
	PG_RETURN_VOID();
}
