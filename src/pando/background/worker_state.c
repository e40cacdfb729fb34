/*
 * worker_state.c: the table of maintenance workers; see worker_state.h for the phases.
 */
#include "pando/compat/compat.h"

#include <signal.h>

#include "miscadmin.h"
#include "pando/background/worker_state.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#define TRANCHE "pando_background"
#define MAX_DATABASES 256
#define HOLD_WAIT_MS 10000

typedef struct BackgroundShared
{
	LWLock *lock;
	Latch *launcher;
	WorkerState workers[MAX_DATABASES];
} BackgroundShared;

static BackgroundShared *shared = NULL;
static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

static void
state_request(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(BackgroundShared)));
	RequestNamedLWLockTranche(TRANCHE, 1);
}

static void
state_startup(void)
{
	bool found;

	if (next_startup_hook)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("pando background", sizeof(BackgroundShared), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(BackgroundShared));
		shared->lock = &GetNamedLWLockTranche(TRANCHE)->lock;
	}
	LWLockRelease(AddinShmemInitLock);
}

void
worker_state_init(void)
{
	next_request_hook = shmem_request_hook;
	shmem_request_hook = state_request;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = state_startup;
}

WorkerState *
worker_state_lock(Oid database)
{
	WorkerState *vacant = NULL;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < MAX_DATABASES; i++)
	{
		WorkerState *worker = &shared->workers[i];

		if (worker->database == database)
			return worker;
		if (vacant == NULL && worker->phase == WORKER_NONE && worker->pid == 0)
			vacant = worker;
	}
	if (vacant == NULL)
	{
		LWLockRelease(shared->lock);
		return NULL;
	}
	memset(vacant, 0, sizeof(WorkerState));
	vacant->database = database;
	return vacant;
}

void
worker_state_unlock(void)
{
	LWLockRelease(shared->lock);
}

WorkerState *
worker_state_copy(int *count)
{
	WorkerState *copy = palloc(sizeof(WorkerState) * MAX_DATABASES);

	*count = 0;
	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < MAX_DATABASES; i++)
		if (OidIsValid(shared->workers[i].database))
			copy[(*count)++] = shared->workers[i];
	LWLockRelease(shared->lock);
	return copy;
}

void
worker_state_set_launcher(Latch *latch)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->launcher = latch;
	LWLockRelease(shared->lock);
}

void
worker_state_wake_launcher(void)
{
	LWLockAcquire(shared->lock, LW_SHARED);
	if (shared->launcher != NULL)
		SetLatch(shared->launcher);
	LWLockRelease(shared->lock);
}

void
worker_want(Oid database)
{
	WorkerState *worker = worker_state_lock(database);
	bool wake = false;

	if (worker == NULL)
	{
		ereport(WARNING, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						  errmsg("no maintenance worker for this database: there are too "
								 "many databases")));
		return;
	}
	if (worker->phase == WORKER_NONE)
	{
		worker->phase = WORKER_WANTED;
		worker->since = 0;
		wake = true;
	}
	worker_state_unlock();
	if (wake)
		worker_state_wake_launcher();
}

void
worker_hold(Oid database)
{
	TimestampTz start = GetCurrentTimestamp();
	WorkerState *worker = worker_state_lock(database);
	int pid;

	if (worker == NULL)
		return;
	worker->phase = WORKER_HELD;
	worker->holder = MyProcPid;
	pid = worker->pid;
	worker_state_unlock();

	while (pid != 0 &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), HOLD_WAIT_MS))
	{
		(void) kill(pid, SIGTERM);
		CHECK_FOR_INTERRUPTS();
		pg_usleep(10000L);
		worker = worker_state_lock(database);
		if (worker == NULL)
			return;
		pid = worker->pid;
		worker_state_unlock();
	}
}

void
worker_release(Oid database)
{
	WorkerState *worker = worker_state_lock(database);

	if (worker == NULL)
		return;
	if (worker->phase == WORKER_HELD && worker->holder == MyProcPid)
	{
		worker->phase = WORKER_WANTED;
		worker->since = 0;
	}
	worker_state_unlock();
	worker_state_wake_launcher();
}
