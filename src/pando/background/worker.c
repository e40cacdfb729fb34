/*
 * worker.c: the maintenance worker of one database.
 *
 * It runs the jobs that modules registered (transaction/maintenance.h) when they are due,
 * soon after its start for the first time. It ends by itself when the extension is not,
 * or no longer, in the database, and comes back through the launcher in every other case.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "pando/background/init.h"
#include "pando/background/worker_state.h"
#include "pando/transaction/maintenance.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#define FIRST_RUN_MS 1000
#define MAX_NAP_MS 60000
#define RESTART_PAUSE_MS 5000

/* Why the worker ends, for the table. */
static bool not_needed = false;

static void
worker_exit(int code, Datum arg)
{
	WorkerState *state = worker_state_lock(DatumGetObjectId(arg));

	if (state == NULL)
		return;
	state->pid = 0;
	if (state->phase != WORKER_HELD)
	{
		state->phase = not_needed ? WORKER_NONE : WORKER_WANTED;
		state->since =
			TimestampTzPlusMilliseconds(GetCurrentTimestamp(), RESTART_PAUSE_MS);
	}
	worker_state_unlock();
	worker_state_wake_launcher();
}

/* Takes the database's entry; false: it is held or has a worker already. */
static bool
worker_begin(Oid database)
{
	WorkerState *state = worker_state_lock(database);
	bool mine;

	if (state == NULL)
		return false;
	mine = state->phase == WORKER_STARTING && state->pid == 0;
	if (mine)
	{
		state->phase = WORKER_RUNNING;
		state->pid = MyProcPid;
	}
	worker_state_unlock();
	if (mine)
		before_shmem_exit(worker_exit, ObjectIdGetDatum(database));
	return mine;
}

static bool
extension_exists(void)
{
	bool exists;

	StartTransactionCommand();
	exists = OidIsValid(get_extension_oid("pando", true));
	CommitTransactionCommand();
	return exists;
}

/* Runs one job; whatever goes wrong is logged and ends its transaction. */
static void
run_job(const MaintenanceJob *job, MemoryContext context)
{
	pgstat_report_activity(STATE_RUNNING, job->name);
	PG_TRY();
	{
		SetCurrentStatementStartTimestamp();
		if (job->own_transactions)
			job->run();
		else
		{
			StartTransactionCommand();
			PushActiveSnapshot(GetTransactionSnapshot());
			job->run();
			PopActiveSnapshot();
			CommitTransactionCommand();
		}
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		EmitErrorReport();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		AbortOutOfAnyTransaction();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	MemoryContextReset(context);
	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/* Runs what is due; returns ms until something is again. */
static long
run_due(TimestampTz *due, MemoryContext context)
{
	long nap = MAX_NAP_MS;
	int i = 0;

	foreach_ptr (const MaintenanceJob, job, maintenance_jobs())
	{
		int interval = job->interval();
		bool wished = maintenance_take(job->wish);
		long left;

		if (interval >= 0)
		{
			if (wished)
				due[i] = 0;
			/* A shortened interval counts at once. */
			if (due[i] > TimestampTzPlusMilliseconds(GetCurrentTimestamp(), interval))
				due[i] = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), interval);
			if (due[i] <= GetCurrentTimestamp())
			{
				run_job(job, context);
				interval = job->interval();
				due[i] = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), interval);
			}
			left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), due[i]);
			nap = Min(nap, Max(left, 10));
		}
		i++;
	}
	return maintenance_wished() ? 0 : nap;
}

static void
worker_loop(void)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "pando maintenance",
												  ALLOCSET_DEFAULT_SIZES);
	TimestampTz *due =
		palloc(sizeof(TimestampTz) * Max(list_length(maintenance_jobs()), 1));

	for (int i = 0; i < list_length(maintenance_jobs()); i++)
		due[i] = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), FIRST_RUN_MS);
	MemoryContextSwitchTo(context);
	for (;;)
	{
		long nap;

		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		if (!extension_exists())
		{
			not_needed = true;
			return;
		}
		nap = run_due(due, context);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, nap,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

void
background_worker_main(Datum arg)
{
	Oid database = DatumGetObjectId(arg);

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	if (!worker_begin(database))
		proc_exit(0);
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	pgstat_report_appname("pando maintenance worker");
	maintenance_attach();
	worker_loop();
	proc_exit(0);
}
