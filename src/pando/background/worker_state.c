/*
 * worker_state.c: the table of maintenance workers; see worker_state.h for the phases.
 */
#include "pando/compat/compat.h"

#include <signal.h>

#include "miscadmin.h"
#include "pando/background/worker_state.h"
#include "pando/base/shared_memory.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

#define MAX_DATABASES 256
#define HOLD_WAIT_MS 10000

typedef struct BackgroundShared
{
	Latch *launcher;
	WorkerState workers[MAX_DATABASES];
} BackgroundShared;

static BackgroundShared *shared = NULL;
static LWLock *shared_lock = NULL;

static void
state_attach(void *memory, LWLock *lock, bool fresh)
{
	shared = memory;
	shared_lock = lock;
}

void
worker_state_init(void)
{
	static const SharedMemory memory = {"pando_background", sizeof(BackgroundShared), 0,
										state_attach};

	shared_memory_register(&memory);
}

WorkerState *
worker_state_lock(Oid database)
{
	WorkerState *vacant = NULL;

	LWLockAcquire(shared_lock, LW_EXCLUSIVE);
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
		LWLockRelease(shared_lock);
		return NULL;
	}
	memset(vacant, 0, sizeof(WorkerState));
	vacant->database = database;
	return vacant;
}

void
worker_state_unlock(void)
{
	LWLockRelease(shared_lock);
}

WorkerState *
worker_state_copy(int *count)
{
	WorkerState *copy = palloc(sizeof(WorkerState) * MAX_DATABASES);

	*count = 0;
	LWLockAcquire(shared_lock, LW_SHARED);
	for (int i = 0; i < MAX_DATABASES; i++)
		if (OidIsValid(shared->workers[i].database))
			copy[(*count)++] = shared->workers[i];
	LWLockRelease(shared_lock);
	return copy;
}

void
worker_state_set_launcher(Latch *latch)
{
	LWLockAcquire(shared_lock, LW_EXCLUSIVE);
	shared->launcher = latch;
	LWLockRelease(shared_lock);
}

void
worker_state_wake_launcher(void)
{
	LWLockAcquire(shared_lock, LW_SHARED);
	if (shared->launcher != NULL)
		SetLatch(shared->launcher);
	LWLockRelease(shared_lock);
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
