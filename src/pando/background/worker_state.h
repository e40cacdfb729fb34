/*
 * worker_state.h: which database has a maintenance worker, in shared memory.
 *
 * One entry per database that ever wanted one. All changes happen under one lock:
 *
 *   NONE -> WANTED     a backend used the extension there, or the server started
 *   WANTED -> STARTING the launcher asked for the process
 *   STARTING -> RUNNING the worker is up; it clears its pid when it ends
 *   RUNNING -> NONE    it ended because the database has no extension
 *   RUNNING -> WANTED  it ended in any other way; not before a pause
 *   any -> HELD        a backend needs the database for itself (DROP DATABASE ...)
 *   HELD -> WANTED     that backend is done, or gone
 */
#ifndef PANDO_BACKGROUND_WORKER_STATE_H
#define PANDO_BACKGROUND_WORKER_STATE_H

#include "pando/compat/compat.h"
#include "datatype/timestamp.h"
#include "storage/latch.h"

typedef enum WorkerPhase
{
	WORKER_NONE,
	WORKER_WANTED,
	WORKER_STARTING,
	WORKER_RUNNING,
	WORKER_HELD
} WorkerPhase;

typedef struct WorkerState
{
	Oid database; /* InvalidOid: free entry */
	WorkerPhase phase;
	int pid;		   /* of the worker; 0: there is none */
	int holder;		   /* pid of the backend that holds it */
	TimestampTz since; /* of the phase; when WANTED: not before */
} WorkerState;

extern void worker_state_init(void);

/* Locks and returns the entry of the database, made if need be; NULL (not locked) when
 * there is no room. */
extern WorkerState *worker_state_lock(Oid database);
extern void worker_state_unlock(void);

/* A copy of all entries in the current context; *count of them. */
extern WorkerState *worker_state_copy(int *count);

/* The launcher's latch, for those who want something of it. */
extern void worker_state_set_launcher(Latch *latch);
extern void worker_state_wake_launcher(void);

/* Asks for a worker in the database unless there is one. */
extern void worker_want(Oid database);

/* Ends the database's worker and keeps it away until worker_release(). */
extern void worker_hold(Oid database);
extern void worker_release(Oid database);

extern void hold_init(void);

#endif
