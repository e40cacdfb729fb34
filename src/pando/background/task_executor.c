/*
 * task_executor.c: the process that runs one task of a background job.
 *
 * It logs in as the task's owner and never is anybody else, so that the command has the
 * rights that the owner has at that time. The command and the note that it is done are
 * one transaction: a task that is not done has had no effect, whatever happened.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "pando/background/init.h"
#include "pando/background/job_state.h"
#include "pando/background/task_queue.h"
#include "pando/base/debug_point.h"
#include "pando/base/nap.h"
#include "pando/cluster/group_switch.h"
#include "pando/transaction/maintenance.h"

#define MAX_MESSAGE 4000

/* Who changes a job is done in this time; longer than that nobody waits who may hold
 * up writers. */
#define DONE_WAIT_MS 1000

/* The task, with its job locked; NULL if there is no such task. */
static TaskRow *
find_and_lock(int64 task_id)
{
	TaskRow *task = catalog_task_find(task_id);

	if (task == NULL)
		return NULL;
	(void) job_lock(task->job_id, ShareLock, true);
	return catalog_task_find(task_id);
}

/* The task if it is this process's to run: it is marked so. NULL: it is not, any more. */
static TaskRow *
take_task(int64 task_id, MemoryContext context)
{
	TaskRow *task;

	StartTransactionCommand();
	task = find_and_lock(task_id);
	if (task == NULL || !task_is(task, TASK_RUNNABLE) || task->owner != GetUserId())
	{
		CommitTransactionCommand();
		return NULL;
	}
	task->status = TASK_RUNNING;
	task->pid = MyProcPid;
	task->not_before = 0;
	catalog_task_update(task);
	MemoryContextSwitchTo(context);
	task = catalog_task_find(task_id);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return task;
}

/* Marks the task as done, in the transaction of its work; raises if it was cancelled. */
static void
note_done(const TaskRow *ran)
{
	TimestampTz start = GetCurrentTimestamp();
	TaskRow *task;

	while (!job_lock(ran->job_id, ShareLock, false))
	{
		if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(), DONE_WAIT_MS))
			ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
							errmsg("the job of the task is being changed")));
		nap(10);
	}
	task = catalog_task_find(ran->task_id);
	if (task == NULL || !task_is(task, TASK_RUNNING))
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED), errmsg("the task was cancelled")));
	task->status = TASK_DONE;
	task->pid = -1;
	task->message = NULL;
	catalog_task_update(task);
	CommandCounterIncrement();
}

static void
run_command(const TaskRow *task)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	debug_query_string = task->command;
	pgstat_report_activity(STATE_RUNNING, task->command);
	PushActiveSnapshot(GetTransactionSnapshot());
	DEBUG_POINT("task-before-command");
	SPI_connect();
	if (SPI_execute(task->command, false, 0) < 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a task's command can't be one that begins or ends a "
							   "transaction, or a COPY from or to the client")));
	SPI_finish();
	/* The note that it is done comes after all that it did. */
	group_switch_all();
	PopActiveSnapshot();
	DEBUG_POINT("task-before-done");
	note_done(task);
	CommitTransactionCommand();
	debug_query_string = NULL;
	pgstat_report_activity(STATE_IDLE, NULL);
}

/* Would another attempt meet the same? The command, what it names or its owner's rights
 * are at fault then; a node, a lock or a resource that is missing may come back. */
static bool
is_for_good(int sqlstate)
{
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case ERRCODE_FEATURE_NOT_SUPPORTED:
		case ERRCODE_DATA_EXCEPTION:
		case ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION:
		case ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION:
		case ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION:
			return true;
		default:
			return false;
	}
}

/* What the task's row says of an error. Anybody may read it: rows' values, which details
 * of such errors tell, are for the server's log. */
static char *
message_of(const ErrorData *error)
{
	StringInfoData text;
	int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	initStringInfo(&text);
	appendStringInfo(&text, "ERROR: %s", error->message);
	if (error->detail != NULL && category != ERRCODE_DATA_EXCEPTION &&
		category != ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION)
		appendStringInfo(&text, "\nDETAIL: %s", error->detail);
	if (error->hint != NULL)
		appendStringInfo(&text, "\nHINT: %s", error->hint);
	if (text.len > MAX_MESSAGE)
		text.data[pg_mbcliplen(text.data, text.len, MAX_MESSAGE)] = '\0';
	return text.data;
}

static void
note_failed(int64 task_id, const ErrorData *error)
{
	TaskRow *task;

	StartTransactionCommand();
	task = find_and_lock(task_id);
	if (task != NULL && (task_is(task, TASK_RUNNING) || task_is(task, TASK_CANCELLING)))
		task_failed(task, message_of(error), is_for_good(error->sqlerrcode));
	CommitTransactionCommand();
}

static void
run_task(const TaskRow *task, MemoryContext context)
{
	ErrorData *volatile error = NULL;

	PG_TRY();
	{
		run_command(task);
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		EmitErrorReport();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		debug_query_string = NULL;
		AbortOutOfAnyTransaction();
		/* A cancel that came late is answered by that, too. */
		QueryCancelPending = false;
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	if (error != NULL)
		note_failed(task->task_id, error);
	pgstat_report_stat(true);
}

static void
executor_exit(int code, Datum arg)
{
	maintenance_want(WISH_TASKS);
}

void
background_executor_main(Datum arg)
{
	TaskStart start;
	MemoryContext context;
	TaskRow *task;

	memcpy(&start, MyBgworkerEntry->bgw_extra, sizeof(start));
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	pqsignal(SIGINT, StatementCancelHandler);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(start.database, start.owner, 0);
	pgstat_report_appname("pando task executor");
	before_shmem_exit(executor_exit, (Datum) 0);

	context =
		AllocSetContextCreate(TopMemoryContext, "pando task", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	task_hold(start.task_id);
	task = take_task(start.task_id, context);
	if (task != NULL)
		run_task(task, context);
	task_release(start.task_id);
	proc_exit(0);
}
