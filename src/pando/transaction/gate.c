/*
 * gate.c: when a node's multi-node commits may become visible.
 *
 * A transaction over several nodes becomes visible on one after the other: here with the
 * local commit, there with COMMIT PREPARED. The backend that commits it is *inside* the
 * gate of its node from before the first of these to after the last. Who wants to see, or
 * to mark in the WAL, all nodes as of one moment *closes* the gates of all nodes, which
 * waits until nobody is inside and keeps others from entering; does its work on all
 * nodes; and opens them again. Closing is shared: several may keep a gate closed. Nobody
 * inside a gate waits for another gate, so there is no deadlock between nodes.
 *
 * A gate is closed for a limited time, its lease. Those who want to enter don't wait
 * longer, and the closer is told when it opens whether the lease had still held; if not,
 * what it saw is not to be used. It opens, too, when the backend that closed it ends. So
 * a lost closer costs the commits of a node a few seconds.
 *
 * A commit that could not be brought to a node leaves a transaction in doubt there
 * (doubt.c) and no trace here, neither does a crash of this server. Both are known to the
 * other nodes after DOUBT_MS, and gate_check() looks for them; until that time has passed
 * the gate does not close.
 *
 * Entering and leaving cost an atomic addition each while no gate is closed.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "pando/base/debug_point.h"
#include "pando/base/shared_memory.h"
#include "pando/transaction/member.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#define NAP_MS 100
#define CLOSE_WAIT_MS 8000
#define MAX_LEASE_MS 30000
#define SHUT UINT64CONST(1) /* in a lease: the gate is closed, nobody is waited for */

typedef struct GateShared
{
	pg_atomic_uint32 inside; /* backends */
	pg_atomic_uint32 closers;
	pg_atomic_uint64 blind_until; /* unsettled commits may not be known to nodes yet */
	ConditionVariable opened;
	ConditionVariable drained;
	pg_atomic_uint64 leases[FLEXIBLE_ARRAY_MEMBER]; /* end, with SHUT; 0: not a closer */
} GateShared;

static GateShared *shared = NULL;
static bool inside = false;

static uint64
later(long ms)
{
	return (uint64) TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

static void
gate_attach(void *memory, LWLock *lock, bool fresh)
{
	shared = memory;
	if (!fresh)
		return;
	pg_atomic_init_u32(&shared->inside, 0);
	pg_atomic_init_u32(&shared->closers, 0);
	pg_atomic_init_u64(&shared->blind_until, later(DOUBT_MS + DOUBT_SLACK_MS));
	ConditionVariableInit(&shared->opened);
	ConditionVariableInit(&shared->drained);
	for (int i = 0; i <= MaxBackends; i++)
		pg_atomic_init_u64(&shared->leases[i], 0);
}

/* ------------------------------------------------------------------------------------
 * Committing.
 */

/* Is there a closer whose lease still holds? shut: one that waits for nobody any more. */
static bool
is_closed(bool shut)
{
	uint64 now;

	if (pg_atomic_read_u32(&shared->closers) == 0)
		return false;
	now = (uint64) GetCurrentTimestamp();
	for (int i = 0; i <= MaxBackends; i++)
	{
		uint64 until = pg_atomic_read_u64(&shared->leases[i]);

		if (until > now && (!shut || (until & SHUT) != 0))
			return true;
	}
	return false;
}

/*
 * Before a transaction becomes visible anywhere; waits while the gate is closed. Does
 * nothing when inside already. With first, it goes before those who still wait to close:
 * for recovery, which somebody inside may be waiting for.
 */
void
gate_enter(bool first)
{
	while (!inside)
	{
		(void) pg_atomic_fetch_add_u32(&shared->inside, 1); /* a full barrier */
		inside = true;
		if (!is_closed(first))
			break;
		gate_leave();
		ConditionVariablePrepareToSleep(&shared->opened);
		if (is_closed(first))
			(void) ConditionVariableTimedSleep(&shared->opened, NAP_MS,
											   PG_WAIT_EXTENSION);
		ConditionVariableCancelSleep();
		CHECK_FOR_INTERRUPTS();
	}
}

/* It is visible everywhere, or nowhere. Nothing happens unless inside; raises nothing. */
void
gate_leave(void)
{
	if (!inside)
		return;
	inside = false;
	if (pg_atomic_sub_fetch_u32(&shared->inside, 1) == 0 &&
		pg_atomic_read_u32(&shared->closers) > 0)
		ConditionVariableBroadcast(&shared->drained);
}

/* A committed transaction is left behind before its nodes know to be in doubt. */
void
gate_leave_unsettled(void)
{
	pg_atomic_write_u64(&shared->blind_until, later(DOUBT_MS + DOUBT_SLACK_MS));
}

/* ------------------------------------------------------------------------------------
 * Closing.
 */

static pg_atomic_uint64 *
my_lease(void)
{
	return &shared->leases[compat_my_backend()];
}

/* Opens the gate as far as this backend goes; false: its lease was over. */
bool
gate_reopen(void)
{
	uint64 until =
		compat_my_backend() != COMPAT_NO_BACKEND ? pg_atomic_read_u64(my_lease()) : 0;
	bool held = until > (uint64) GetCurrentTimestamp();

	if (until == 0)
		return false;
	pg_atomic_write_u64(my_lease(), 0);
	(void) pg_atomic_sub_fetch_u32(&shared->closers, 1);
	ConditionVariableBroadcast(&shared->opened);
	return held;
}

static void
gate_exit(int code, Datum arg)
{
	(void) gate_reopen();
}

/* Ends the lease that much later; barrier: before what follows is read. */
static void
set_lease(long ms, uint64 shut)
{
	pg_atomic_write_u64(my_lease(), (later(ms) & ~SHUT) | shut);
	pg_memory_barrier();
}

static bool
is_drained(void)
{
	return pg_atomic_read_u32(&shared->inside) == 0 &&
		   pg_atomic_read_u64(&shared->blind_until) <= (uint64) GetCurrentTimestamp();
}

/* Closes the gate for that time and waits until nobody is inside. */
void
gate_keep_closed(int lease_ms)
{
	static bool exit_registered = false;
	uint64 deadline = later(CLOSE_WAIT_MS);

	if (!exit_registered)
		before_shmem_exit(gate_exit, 0);
	exit_registered = true;
	(void) gate_reopen();
	(void) pg_atomic_fetch_add_u32(&shared->closers, 1);
	set_lease(CLOSE_WAIT_MS + lease_ms, 0);

	PG_TRY();
	{
		ConditionVariablePrepareToSleep(&shared->drained);
		for (;;)
		{
			if (is_drained())
			{
				set_lease(lease_ms, SHUT);
				if (is_drained())
					break;
				set_lease(CLOSE_WAIT_MS + lease_ms, 0);
			}
			if ((uint64) GetCurrentTimestamp() >= deadline)
				ereport(ERROR,
						(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
						 errmsg("a commit over several nodes did not end in time"),
						 errdetail("A moment without one is needed on each node.")));
			(void) ConditionVariableTimedSleep(&shared->drained, NAP_MS,
											   PG_WAIT_EXTENSION);
		}
		ConditionVariableCancelSleep();
	}
	PG_CATCH();
	{
		(void) gate_reopen();
		PG_RE_THROW();
	}
	PG_END_TRY();
	DEBUG_POINT("gate-closed");
}

void
gate_init(void)
{
	static const SharedMemory memory = {"pando_gate", offsetof(GateShared, leases),
										sizeof(pg_atomic_uint64), gate_attach};

	shared_memory_register(&memory);
}

PG_FUNCTION_INFO_V1(gate_close);
PG_FUNCTION_INFO_V1(gate_check);
PG_FUNCTION_INFO_V1(gate_open);

/* pando.gate_close(lease_ms): for nodes, since who closes it anew each time stops all
 * commits. */
Datum
gate_close(PG_FUNCTION_ARGS)
{
	xact_require_node("pando.gate_close()");
	gate_keep_closed(Min(Max(PG_GETARG_INT32(0), 0), MAX_LEASE_MS));
	PG_RETURN_VOID();
}

/* pando.gate_check(): is nothing in doubt here? Its statement has taken its snapshot. */
Datum
gate_check(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!doubt_exists());
}

/* pando.gate_open(): true when the lease had still held */
Datum
gate_open(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(gate_reopen());
}
