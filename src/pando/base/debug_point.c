/*
 * debug_point.c: named places where a test makes a backend wait, fail or die.
 *
 * What is armed stands in shared memory, in a small table guarded by one LWLock; `narmed`
 * is read without it, so that a point costs one load while nothing is armed. A waiting
 * backend sleeps on a condition variable that pando.debug_point_clear() signals.
 */
#include "pando/compat/compat.h"

#include <unistd.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "utils/builtins.h"

#include "pando/base/debug_point.h"
#include "pando/base/shared_memory.h"

#define MAX_ARMED 32

/* Milliseconds between looks of who waits at a point. */
#define LOOK_MS 10

PG_FUNCTION_INFO_V1(debug_point_arm);
PG_FUNCTION_INFO_V1(debug_point_clear);
PG_FUNCTION_INFO_V1(debug_steps);

typedef enum DebugAction
{
	DEBUG_ACTION_WAIT,
	DEBUG_ACTION_ERROR,
	DEBUG_ACTION_EXIT
} DebugAction;

typedef struct DebugPointTable
{
	volatile int narmed;
	struct
	{
		char name[NAMEDATALEN];
		DebugAction action;
	} armed[MAX_ARMED];
} DebugPointTable;

#ifdef PANDO_DEBUG_POINTS

uint64 debug_steps_done = 0;

static DebugPointTable *table = NULL;
static LWLock *table_lock = NULL;

static void
debug_point_attach(void *memory, LWLock *lock, bool fresh)
{
	table = memory;
	table_lock = lock;
}

void
debug_point_init(void)
{
	static const SharedMemory memory = {"pando_debug_point", sizeof(DebugPointTable), 0,
										debug_point_attach};

	shared_memory_register(&memory);
}

/* Position of an armed point, -1 if it is not; the caller holds the lock. */
static int
debug_point_find(const char *name)
{
	for (int i = 0; i < table->narmed; i++)
		if (strcmp(table->armed[i].name, name) == 0)
			return i;
	return -1;
}

/* Is it armed, and with what? */
static bool
debug_point_look(const char *name, DebugAction *action)
{
	int i;

	LWLockAcquire(table_lock, LW_SHARED);
	i = debug_point_find(name);
	if (i >= 0)
		*action = table->armed[i].action;
	LWLockRelease(table_lock);
	return i >= 0;
}

/* Sleeps until the point is no longer armed; interruptible. */
static void
debug_point_wait(const char *name)
{
	DebugAction action;

	while (debug_point_look(name, &action) && action == DEBUG_ACTION_WAIT)
	{
		int events = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_POSTMASTER_DEATH,
							   LOOK_MS, WAIT_EVENT_PG_SLEEP);

		/* As if the machine had stopped: the point may be where nothing can be undone. */
		if (events & WL_POSTMASTER_DEATH)
			_exit(1);
		if (events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

static void
reached(const char *name, int elevel)
{
	DebugAction action;

	if (table == NULL || table->narmed == 0 || !debug_point_look(name, &action))
		return;
	switch (action)
	{
		case DEBUG_ACTION_WAIT:
			debug_point_wait(name);
			break;
		case DEBUG_ACTION_ERROR:
			ereport(elevel, (errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
							 errmsg("debug point \"%s\" reached", name)));
			break;
		case DEBUG_ACTION_EXIT:
			/* As a crash: no callback runs and the postmaster restarts the server. */
			_exit(2);
	}
}

void
debug_point_reached(const char *name)
{
	reached(name, ERROR);
}

void
debug_point_passed(const char *name)
{
	reached(name, WARNING);
}

Datum
debug_steps(PG_FUNCTION_ARGS)
{
	uint64 done = debug_steps_done;

	debug_steps_done = 0;
	PG_RETURN_INT64(done);
}

Datum
debug_point_arm(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char *word = text_to_cstring(PG_GETARG_TEXT_PP(1));
	DebugAction action;
	int i;

	if (strcmp(word, "wait") == 0)
		action = DEBUG_ACTION_WAIT;
	else if (strcmp(word, "error") == 0)
		action = DEBUG_ACTION_ERROR;
	else if (strcmp(word, "exit") == 0)
		action = DEBUG_ACTION_EXIT;
	else
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("invalid action \"%s\" for a debug point", word),
						errhint("Use wait, error or exit.")));

	LWLockAcquire(table_lock, LW_EXCLUSIVE);
	i = debug_point_find(name);
	if (i < 0 && table->narmed == MAX_ARMED)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("no more than %d debug points can be armed", MAX_ARMED)));
	if (i < 0)
		i = table->narmed++;
	strlcpy(table->armed[i].name, name, NAMEDATALEN);
	table->armed[i].action = action;
	LWLockRelease(table_lock);
	PG_RETURN_VOID();
}

Datum
debug_point_clear(PG_FUNCTION_ARGS)
{
	LWLockAcquire(table_lock, LW_EXCLUSIVE);
	table->narmed = 0;
	LWLockRelease(table_lock);
	PG_RETURN_VOID();
}

#else

void
debug_point_init(void)
{
}

static void
debug_point_absent(void)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("debug points are not part of this build"),
					errhint("Build with PANDO_CPPFLAGS=-DPANDO_DEBUG_POINTS.")));
}

Datum
debug_point_arm(PG_FUNCTION_ARGS)
{
	debug_point_absent();
	PG_RETURN_VOID();
}

Datum
debug_point_clear(PG_FUNCTION_ARGS)
{
	debug_point_absent();
	PG_RETURN_VOID();
}

Datum
debug_steps(PG_FUNCTION_ARGS)
{
	debug_point_absent();
	PG_RETURN_NULL();
}

#endif
