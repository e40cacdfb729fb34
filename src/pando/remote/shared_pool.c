/*
 * shared_pool.c: how many sessions all backends of this server hold to each node.
 *
 * One entry per node address in shared memory; entries are never removed, so a session
 * keeps a pointer to its own. A backend that needs a session while the pool is full
 * waits, up to citus.node_connection_timeout. A transaction that already holds sessions
 * waits for a second only, since two such could wait for each other: then it exceeds the
 * limit. A node that had no connection left for us tells the limit, too. A session that
 * would only make a statement faster is not opened while the pool is full.
 *
 * Places go round by *turns*: so many backends as a node has places may hold sessions,
 * each one to a node that it can't do without. Who waits for a turn says so, and a
 * backend whose turn is over (connect.c) closes its sessions at the end of its
 * transaction. Those that keep idle sessions meanwhile stand in `keepers`; who waits
 * makes them look at theirs, by a signal on which PostgreSQL has a backend that waits for
 * its client run an empty transaction. A crowded node's places go round in the same way.
 */
#include "pando/compat/compat.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pando/remote/wire.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "postmaster/postmaster.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/procsignal.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#define TRANCHE "pando_shared_pool"
#define SOCKET_REFUSED_MS 600000
#define CROWDED_MS 30000
#define HOLDER_WAIT_MS 1000
#define ASK_MS 100	   /* keepers are asked that often */
#define WANTED_MS 1000 /* who waits says so more often */
#define LINE_MS 500	   /* who waits for a turn looks that often, woken or not */

struct SharedPoolEntry
{
	uint64 key; /* hash of host and port */
	pg_atomic_uint32 sessions;
	pg_atomic_uint64 socket_refused; /* when its Unix-domain socket let nobody in; 0 */
	pg_atomic_uint64 crowded;		 /* when it last had no connection left for us; 0 */
	pg_atomic_uint32 crowded_role;	 /* for whom: roles have limits of their own */
	pg_atomic_uint32 crowd;			 /* as many of ours as it had then */
	pg_atomic_uint64 wanted;		 /* when somebody last waited for it so; 0 */
	ConditionVariable freed;
};

typedef struct Turns
{
	pg_atomic_uint32 taken;
	pg_atomic_uint64 wanted; /* when somebody last waited for one; 0 */
	pg_atomic_uint64 asked;	 /* when keepers were last asked for theirs; 0 */
	ConditionVariable freed;
	pg_atomic_uint32 keepers[FLEXIBLE_ARRAY_MEMBER]; /* pids by backend id, or 0 */
} Turns;

static HTAB *pool_table = NULL;
static Turns *turns = NULL;
static bool has_turn = false;
static bool gave_way = false;  /* its last turn ended while others waited */
static bool is_keeper = false; /* stood in keepers, and may have been asked */
static LWLock *pool_lock = NULL;
static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

static Size
turns_size(void)
{
	return add_size(offsetof(Turns, keepers),
					mul_size(MaxBackends, sizeof(pg_atomic_uint32)));
}

static void
turns_startup(void)
{
	bool found;

	turns = ShmemInitStruct("pando session turns", turns_size(), &found);
	if (found)
		return;
	pg_atomic_init_u32(&turns->taken, 0);
	pg_atomic_init_u64(&turns->wanted, 0);
	pg_atomic_init_u64(&turns->asked, 0);
	ConditionVariableInit(&turns->freed);
	for (int i = 0; i < MaxBackends; i++)
		pg_atomic_init_u32(&turns->keepers[i], 0);
}

static void
pool_request(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestAddinShmemSpace(
		add_size(hash_estimate_size(remote_max_nodes_tracked, sizeof(SharedPoolEntry)),
				 turns_size()));
	RequestNamedLWLockTranche(TRANCHE, 1);
}

static void
pool_startup(void)
{
	HASHCTL control = {.keysize = sizeof(uint64), .entrysize = sizeof(SharedPoolEntry)};

	if (next_startup_hook)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	pool_table = ShmemInitHash("pando shared pool", 16, remote_max_nodes_tracked,
							   &control, HASH_ELEM | HASH_BLOBS);
	turns_startup();
	pool_lock = &GetNamedLWLockTranche(TRANCHE)->lock;
	LWLockRelease(AddinShmemInitLock);
}

void
shared_pool_init(void)
{
	next_request_hook = shmem_request_hook;
	shmem_request_hook = pool_request;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = pool_startup;
}

static bool
is_recent(pg_atomic_uint64 *when, int milliseconds)
{
	TimestampTz then = (TimestampTz) pg_atomic_read_u64(when);

	return then != 0 &&
		   !TimestampDifferenceExceeds(then, GetCurrentTimestamp(), milliseconds);
}

/* Places per node; 0: no limit. */
static uint32
pool_limit(void)
{
	if (remote_max_shared_pool_size == -1)
		return 0;
	return remote_max_shared_pool_size == 0 ? MaxConnections
											: remote_max_shared_pool_size;
}

/* Has the node lately had no connection left for this role, as things are? */
static bool
is_crowded(SharedPoolEntry *entry)
{
	return is_recent(&entry->crowded, CROWDED_MS) &&
		   pg_atomic_read_u32(&entry->crowded_role) == GetSessionUserId() &&
		   pg_atomic_read_u32(&entry->sessions) >= pg_atomic_read_u32(&entry->crowd);
}

static uint64
pool_key(const char *host, int port)
{
	return hash_bytes_extended((const unsigned char *) host, strlen(host), (uint64) port);
}

static SharedPoolEntry *
pool_entry(const char *host, int port)
{
	uint64 key = pool_key(host, port);
	SharedPoolEntry *entry;
	bool found;

	LWLockAcquire(pool_lock, LW_SHARED);
	entry = hash_search(pool_table, &key, HASH_FIND, NULL);
	LWLockRelease(pool_lock);
	if (entry != NULL)
		return entry;

	LWLockAcquire(pool_lock, LW_EXCLUSIVE);
	entry = hash_search(pool_table, &key, HASH_ENTER_NULL, &found);
	if (entry != NULL && !found)
	{
		pg_atomic_init_u32(&entry->sessions, 0);
		pg_atomic_init_u64(&entry->socket_refused, 0);
		pg_atomic_init_u64(&entry->crowded, 0);
		pg_atomic_init_u32(&entry->crowded_role, InvalidOid);
		pg_atomic_init_u32(&entry->crowd, 0);
		pg_atomic_init_u64(&entry->wanted, 0);
		ConditionVariableInit(&entry->freed);
	}
	LWLockRelease(pool_lock);
	return entry;
}

/* Adds one, if it stays within the limit; 0: none. */
static bool
count_up(pg_atomic_uint32 *counter, uint32 limit)
{
	uint32 count = pg_atomic_read_u32(counter);

	while (limit == 0 || count < limit)
	{
		if (pg_atomic_compare_exchange_u32(counter, &count, count + 1))
			return true;
	}
	return false;
}

/* Takes a place if there is one. */
static bool
pool_try(SharedPoolEntry *entry, uint32 limit)
{
	return count_up(&entry->sessions, limit);
}

static void
raise_full(const char *host, int port, uint32 limit)
{
	ereport(ERROR, (errcode(ERRCODE_TOO_MANY_CONNECTIONS),
					errmsg("too many connections to the remote node %s:%d", host, port),
					errdetail("All %u connections that this server may hold to it were "
							  "in use for %d ms.",
							  limit, remote_connection_timeout),
					errhint("Consider raising citus.max_shared_pool_size.")));
}

/* ------------------------------------------------------------------------------------
 * Turns.
 */

/* Says that somebody waits. */
static void
want(pg_atomic_uint64 *wanted)
{
	TimestampTz now = GetCurrentTimestamp();
	uint64 asked = pg_atomic_read_u64(&turns->asked);

	pg_atomic_write_u64(wanted, (uint64) now);
	if (!TimestampDifferenceExceeds((TimestampTz) asked, now, ASK_MS) ||
		!pg_atomic_compare_exchange_u64(&turns->asked, &asked, (uint64) now))
		return;
	for (int i = 0; i < MaxBackends; i++)
	{
		uint32 pid = pg_atomic_exchange_u32(&turns->keepers[i], 0);

		/* It may be gone. */
		if (pid != 0)
			(void) compat_send_signal((pid_t) pid, PROCSIG_CATCHUP_INTERRUPT, i + 1);
	}
}

/* Who came first is woken first; now and then all look, should a wake-up be lost. */
static void
wait_in_line(void)
{
	for (int i = 0; i < LINE_MS / ASK_MS; i++)
	{
		want(&turns->wanted);
		if (!ConditionVariableTimedSleep(&turns->freed, ASK_MS, PG_WAIT_EXTENSION))
			return;
	}
}

/* Waits for this backend's turn, behind those for whom it gave way. */
static void
take_turn(const char *host, int port)
{
	uint32 limit = pool_limit();
	bool behind = gave_way;
	TimestampTz start;

	gave_way = false;
	if (has_turn || limit == 0)
		return;
	has_turn = !behind && count_up(&turns->taken, limit);
	if (has_turn)
		return;
	start = GetCurrentTimestamp();
	ConditionVariablePrepareToSleep(&turns->freed);
	do
	{
		if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(),
									   remote_connection_timeout))
		{
			ConditionVariableCancelSleep();
			raise_full(host, port, limit);
		}
		wait_in_line();
	} while (!count_up(&turns->taken, limit));
	has_turn = true;
	ConditionVariableCancelSleep();
}

/* This backend holds no session any more. */
void
shared_pool_end_turn(void)
{
	if (!has_turn)
		return;
	has_turn = false;
	gave_way = is_recent(&turns->wanted, WANTED_MS);
	pg_atomic_fetch_sub_u32(&turns->taken, 1);
	ConditionVariableSignal(&turns->freed);
}

/* Does somebody wait for this backend to give up its sessions? */
bool
shared_pool_turn_wanted(void)
{
	return has_turn && is_recent(&turns->wanted, WANTED_MS);
}

/* Does somebody wait because the node is crowded? */
bool
shared_pool_place_wanted(SharedPoolEntry *entry)
{
	return entry != NULL && is_recent(&entry->wanted, WANTED_MS);
}

/* This backend keeps an idle session: others may ask for it. */
void
shared_pool_keep(void)
{
	pg_atomic_uint32 *keeper = &turns->keepers[compat_my_backend() - 1];

	if (pg_atomic_read_u32(keeper) != MyProcPid)
		pg_atomic_write_u32(keeper, MyProcPid);
	is_keeper = true;
}

/* Has somebody asked for what this backend keeps? Then shared_pool_keep() is due again.
 */
bool
shared_pool_asked(void)
{
	if (!is_keeper ||
		pg_atomic_read_u32(&turns->keepers[compat_my_backend() - 1]) == MyProcPid)
		return false;
	is_keeper = false;
	return true;
}

/* ------------------------------------------------------------------------------------
 * Places.
 */

/*
 * Takes a place for one more session to the node, waiting for one if all are taken; who
 * holds others takes one beyond the limit after a while. NULL when so many nodes are
 * known that this one is not counted. Raises too_many_connections after
 * citus.node_connection_timeout.
 */
SharedPoolEntry *
shared_pool_enter(const char *host, int port, bool holds_others)
{
	SharedPoolEntry *entry = pool_entry(host, port);
	uint32 limit = pool_limit();
	int patience = holds_others ? Min(HOLDER_WAIT_MS, remote_connection_timeout)
								: remote_connection_timeout;
	TimestampTz start;

	take_turn(host, port);
	if (entry == NULL || pool_try(entry, limit))
		return entry;

	start = GetCurrentTimestamp();
	ConditionVariablePrepareToSleep(&entry->freed);
	while (!pool_try(entry, limit))
	{
		if (!TimestampDifferenceExceeds(start, GetCurrentTimestamp(), patience))
			(void) ConditionVariableTimedSleep(&entry->freed, 100, PG_WAIT_EXTENSION);
		else if (holds_others)
			limit = 0;
		else
		{
			ConditionVariableCancelSleep();
			raise_full(host, port, limit);
		}
	}
	ConditionVariableCancelSleep();
	return entry;
}

/* The same if a place is free; false, with *taken NULL, if none is. For a session that is
 * only useful a crowded node has none. */
bool
shared_pool_try(const char *host, int port, bool needed, SharedPoolEntry **taken)
{
	SharedPoolEntry *entry = pool_entry(host, port);
	bool has_place = entry == NULL ||
					 ((needed || !is_crowded(entry)) && pool_try(entry, pool_limit()));

	*taken = has_place ? entry : NULL;
	return has_place;
}

void
shared_pool_leave(SharedPoolEntry *entry)
{
	if (entry == NULL)
		return;
	pg_atomic_fetch_sub_u32(&entry->sessions, 1);
	ConditionVariableSignal(&entry->freed);
}

/* The node has no connection left for this role, and somebody waits for one. */
void
shared_pool_crowded(SharedPoolEntry *entry)
{
	if (entry == NULL)
		return;
	pg_atomic_write_u32(&entry->crowd, Max(pg_atomic_read_u32(&entry->sessions), 1));
	pg_atomic_write_u32(&entry->crowded_role, GetSessionUserId());
	pg_atomic_write_u64(&entry->crowded, (uint64) GetCurrentTimestamp());
	want(&entry->wanted);
}

/* Nobody tries the node's Unix-domain socket for some time. */
void
shared_pool_refuse_socket(SharedPoolEntry *entry)
{
	if (entry != NULL)
		pg_atomic_write_u64(&entry->socket_refused, (uint64) GetCurrentTimestamp());
}

bool
shared_pool_socket_refused(SharedPoolEntry *entry)
{
	return entry != NULL && is_recent(&entry->socket_refused, SOCKET_REFUSED_MS);
}

PG_FUNCTION_INFO_V1(session_count);

/* session_count(host, port): how many sessions this server's backends hold there */
Datum
session_count(PG_FUNCTION_ARGS)
{
	char *host = text_to_cstring(PG_GETARG_TEXT_PP(0));
	uint64 key = pool_key(host, PG_GETARG_INT32(1));
	SharedPoolEntry *entry;
	uint32 count = 0;

	LWLockAcquire(pool_lock, LW_SHARED);
	entry = hash_search(pool_table, &key, HASH_FIND, NULL);
	if (entry != NULL)
		count = pg_atomic_read_u32(&entry->sessions);
	LWLockRelease(pool_lock);
	PG_RETURN_INT32((int32) count);
}
