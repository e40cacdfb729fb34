/*
 * launcher.c: the process that starts a maintenance worker in each database that needs
 * one.
 *
 * It is connected to no database, so it is in nobody's way. When the server starts it
 * asks for a worker in every database; one that finds no extension ends at once and is
 * not asked for again until a backend does.
 */
#include "pando/compat/compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pando/background/init.h"
#include "pando/background/worker_state.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procarray.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#define NAP_MS 5000
#define START_LIMIT_MS 60000

/* Every database that can be connected to might have the extension. */
static void
want_all(void)
{
	Relation relation;
	TableScanDesc scan;
	HeapTuple tuple;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	relation = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(relation, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);

		if (database->datallowconn)
			worker_want(database->oid);
	}
	table_endscan(scan);
	table_close(relation, AccessShareLock);
	CommitTransactionCommand();
}

static bool
can_connect(Oid database)
{
	HeapTuple tuple;
	bool ok = false;

	StartTransactionCommand();
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	if (HeapTupleIsValid(tuple))
	{
		ok = ((Form_pg_database) GETSTRUCT(tuple))->datallowconn;
		ReleaseSysCache(tuple);
	}
	CommitTransactionCommand();
	return ok;
}

static void
start_worker(Oid database)
{
	BackgroundWorker worker = {0};
	WorkerState *state = worker_state_lock(database);
	bool go;

	if (state == NULL)
		return;
	go = state->phase == WORKER_WANTED;
	if (go)
	{
		state->phase = WORKER_STARTING;
		state->since = GetCurrentTimestamp();
	}
	worker_state_unlock();
	if (!go)
		return;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_library_name, "pando", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "background_worker_main", BGW_MAXLEN);
	snprintf(worker.bgw_name, BGW_MAXLEN, "pando maintenance worker for database %u",
			 database);
	strlcpy(worker.bgw_type, "pando maintenance worker", BGW_MAXLEN);
	if (RegisterDynamicBackgroundWorker(&worker, NULL))
		return;

	ereport(LOG, (errmsg("could not start a maintenance worker"),
				  errhint("Raise max_worker_processes.")));
	state = worker_state_lock(database);
	if (state != NULL)
	{
		if (state->phase == WORKER_STARTING)
			state->phase = WORKER_WANTED;
		state->since = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), START_LIMIT_MS);
		worker_state_unlock();
	}
}

/* Sets right what nobody else will: a start that came to nothing, a holder that died, a
 * database that is gone. Says whether the worker is to be started. */
static bool
review(const WorkerState *seen)
{
	TimestampTz now = GetCurrentTimestamp();
	bool exists = seen->phase == WORKER_NONE || can_connect(seen->database);
	WorkerState *state = worker_state_lock(seen->database);
	bool start = false;

	if (state == NULL)
		return false;
	if (state->phase == WORKER_STARTING &&
		TimestampDifferenceExceeds(state->since, now, START_LIMIT_MS))
		state->phase = WORKER_WANTED;
	if (state->phase == WORKER_HELD && BackendPidGetProc(state->holder) == NULL)
		state->phase = WORKER_WANTED;
	if (state->phase == WORKER_WANTED && !exists)
		state->phase = WORKER_NONE;
	if (state->phase == WORKER_WANTED && state->pid == 0 && state->since <= now)
		start = true;
	worker_state_unlock();
	return start;
}

static void
start_wanted(void)
{
	int count;
	WorkerState *all = worker_state_copy(&count);

	for (int i = 0; i < count; i++)
		if (all[i].phase != WORKER_NONE && all[i].phase != WORKER_RUNNING &&
			review(&all[i]))
			start_worker(all[i].database);
	pfree(all);
}

static void
launcher_exit(int code, Datum arg)
{
	worker_state_set_launcher(NULL);
}

void
background_launcher_main(Datum arg)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	before_shmem_exit(launcher_exit, 0);
	worker_state_set_launcher(MyLatch);
	want_all();
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		start_wanted();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, NAP_MS,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}
