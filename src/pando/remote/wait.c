/*
 * wait.c: the one place where sessions are waited for.
 *
 * wire_wait() alternates between pumping all sessions (pump.c) and sleeping on their
 * sockets, the process latch and the postmaster.
 *
 * Where interrupts are held off (transaction end) a wait returns early, with NULL, when a
 * cancel or termination request is pending: the caller must then give up by itself.
 */
#include "pando/compat/compat.h"

#include <sys/stat.h>

#include "pando/base/debug_point.h"
#include "pando/remote/wire.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define MAX_EVENTS 256
#define KEPT_SPARE 16

static void (*interrupt_check)(void) = NULL;

void
session_register_interrupt(void (*check)(void))
{
	interrupt_check = check;
}

static void
check_interrupts(void)
{
	if (interrupt_check != NULL && InterruptPending && InterruptHoldoffCount == 0)
		interrupt_check();
	CHECK_FOR_INTERRUPTS();
}

/* Has the caller something to do about this session? */
static bool
is_ready(const Session *session)
{
	const SessionWire *wire = session->wire;

	switch (session->state)
	{
		case SESSION_CONNECTING:
			return false;
		case SESSION_BUSY:
			return wire->pending != NULL;
		case SESSION_COPY_OUT:
			return wire->copy_row != NULL || wire->pending != NULL;
		case SESSION_COPY_IN:
		case SESSION_IDLE:
		case SESSION_DEAD:
			return !wire->reported || wire->pending != NULL;
	}
	return false;
}

/* Socket events to sleep on; 0: none. */
static uint32
wanted_events(const Session *session)
{
	const SessionWire *wire = session->wire;

	switch (session->state)
	{
		case SESSION_CONNECTING:
			if (session->conn == NULL)
				return 0;
			return wire->polling == PGRES_POLLING_READING ? WL_SOCKET_READABLE
														  : WL_SOCKET_WRITEABLE;
		case SESSION_BUSY:
		case SESSION_COPY_OUT:
			return WL_SOCKET_READABLE | (wire->unsent ? WL_SOCKET_WRITEABLE : 0);
		case SESSION_COPY_IN:
			return wire->unsent ? WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE : 0;
		default:
			return 0;
	}
}

/* Rotates over the sessions so that a fast one does not starve the others. */
static Session *
next_ready(Session **sessions, int nsessions)
{
	static uint32 turn = 0;
	uint32 first = nsessions > 1 ? turn++ : 0;

	for (int i = 0; i < nsessions; i++)
	{
		Session *session = sessions[(first + i) % nsessions];

		wire_pump(session);
		if (is_ready(session))
		{
			if (session->state == SESSION_IDLE || session->state == SESSION_DEAD ||
				session->state == SESSION_COPY_IN)
				session->wire->reported = true;
			return session;
		}
	}
	return NULL;
}

static WaitEventSet *
make_wait_set(int nsockets)
{
	WaitEventSet *set = compat_wait_set(TopMemoryContext, nsockets + 2);

	AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(set, WL_POSTMASTER_DEATH, PGINVALID_SOCKET, NULL, NULL);
	return set;
}

/* Each is a call into the kernel. */
static void
add_socket(WaitEventSet *set, Session *session)
{
	DEBUG_STEPS(1);
	AddWaitEventToSet(set, wanted_events(session), PQsocket(session->conn), NULL,
					  session);
}

/* A connected session keeps its set: most waits are for one session, over and over. */
static WaitEventSet *
own_wait_set(Session *session)
{
	SessionWire *wire = session->wire;

	if (wire->wait_set == NULL)
	{
		wire->wait_set = make_wait_set(1);
		add_socket(wire->wait_set, session);
	}
	else
	{
		ModifyWaitEvent(wire->wait_set, 0, WL_LATCH_SET, MyLatch);
		ModifyWaitEvent(wire->wait_set, 2, wanted_events(session), NULL);
	}
	return wire->wait_set;
}

/*
 * The set for waits on several sessions: a statement over many nodes waits for the same
 * ones again and again, and so does the next statement. Sessions join it when they are
 * first waited for; to make it anew for each wait would be as many system calls as there
 * are sessions. Those that the present wait is not about stay, unless they become most of
 * it or have something to say: then it is made anew, of those that are waited for.
 */
static struct
{
	WaitEventSet *set;
	int count;
	int room;
	Session **sessions; /* in the order of their events, which start at KEPT_FIRST */
	uint32 wait;		/* number of the present one */
	bool joining;		/* still: an error came in between */
} kept;

#define KEPT_FIRST 2

static void
forget_kept_set(void)
{
	if (kept.set == NULL)
		return;
	FreeWaitEventSet(kept.set);
	kept.set = NULL;
	for (int i = 0; i < kept.count; i++)
		kept.sessions[i]->wire->kept = false;
	pfree(kept.sessions);
	kept.sessions = NULL;
	kept.count = kept.room = 0;
	kept.joining = false;
}

void
wire_forget_own_set(Session *session)
{
	if (session->wire->wait_set != NULL)
		FreeWaitEventSet(session->wire->wait_set);
	session->wire->wait_set = NULL;
}

/* The session's socket is about to be closed: no set may hold on to it. */
void
wire_forget_socket(Session *session)
{
	wire_forget_own_set(session);
	if (session->wire->kept)
		forget_kept_set();
}

/* Tells one socket from the next one with the same number. */
static ino_t
socket_identity(const Session *session)
{
	struct stat status;

	if (session->conn == NULL || fstat(PQsocket(session->conn), &status) < 0)
		return 0;
	return status.st_ino;
}

static void
join_kept_set(Session *session)
{
	if (session->state == SESSION_CONNECTING)
		session->wire->kept_socket = socket_identity(session);
	kept.joining = true;
	add_socket(kept.set, session);
	kept.sessions[kept.count++] = session;
	session->wire->kept = true;
	kept.joining = false;
}

/* Room for that many sessions that are not in it, and hardly any others. */
static void
prepare_kept_set(int count, int joining)
{
	if (kept.set != NULL && !kept.joining && kept.count + joining <= kept.room &&
		kept.count + joining <= 2 * count + KEPT_SPARE)
		return;
	forget_kept_set();
	kept.room = 2 * count + KEPT_SPARE;
	kept.sessions = MemoryContextAlloc(TopMemoryContext, sizeof(Session *) * kept.room);
	kept.set = make_wait_set(kept.room);
}

static WaitEventSet *
kept_wait_set(Session **sessions, int count)
{
	int joining = 0;

	for (int i = 0; i < count; i++)
		joining += !sessions[i]->wire->kept;
	prepare_kept_set(count, joining);
	kept.wait++;
	for (int i = 0; i < count; i++)
	{
		if (!sessions[i]->wire->kept)
			join_kept_set(sessions[i]);
		sessions[i]->wire->kept_wait = kept.wait;
	}
	ModifyWaitEvent(kept.set, 0, WL_LATCH_SET, MyLatch);
	for (int i = 0; i < kept.count; i++)
	{
		Session *session = kept.sessions[i];

		ModifyWaitEvent(kept.set, KEPT_FIRST + i,
						session->wire->kept_wait == kept.wait ? wanted_events(session)
															  : WL_SOCKET_READABLE,
						NULL);
	}
	return kept.set;
}

/* libpq goes on with another socket when the first address does not answer. */
static void
connecting_socket_ready(Session *session)
{
	SessionWire *wire = session->wire;

	connect_advance(session);
	if (wire->kept && socket_identity(session) != wire->kept_socket)
		forget_kept_set();
}

/* A set for one wait: a socket that may still change, none, or no file for a set. */
static WaitEventSet *
passing_wait_set(Session **sessions, int count)
{
	WaitEventSet *set = make_wait_set(count);

	for (int i = 0; i < count; i++)
		add_socket(set, sessions[i]);
	return set;
}

static void
socket_ready(Session *session, uint32 events)
{
	if (session->state == SESSION_CONNECTING)
	{
		connecting_socket_ready(session);
		return;
	}
	if (events & WL_SOCKET_WRITEABLE)
		wire_flush(session);
	if (events & WL_SOCKET_READABLE)
		wire_read(session);
}

/*
 * The server is no more. Where interrupts are held off, a transaction is ending: to exit
 * in the middle would abort what is committed already, so that is left to who waits.
 */
static void
postmaster_died(void)
{
	if (InterruptHoldoffCount == 0)
		proc_exit(1);
	ProcDiePending = true;
	InterruptPending = true;
	whereToSendOutput = DestNone;
}

/* Sleeps until a socket or the latch is ready, at most timeout ms (-1: no limit). */
static void
sleep_on(Session **sessions, int nsessions, long timeout_ms)
{
	WaitEvent occurred[MAX_EVENTS];
	WaitEventSet *set;
	WaitEventSet *passing = NULL;
	Session **wanted = palloc(sizeof(Session *) * Max(nsessions, 1));
	int count = 0;
	int noccurred;
	bool several;
	bool own;

	for (int i = 0; i < nsessions; i++)
	{
		if (wanted_events(sessions[i]) == 0)
			continue;
		wanted[count++] = sessions[i];
	}
	several = count > 1;
	own = count == 1 && wanted[0]->state != SESSION_CONNECTING &&
		  (wanted[0]->wire->wait_set != NULL || session_files_left());
	if (several)
		set = kept_wait_set(wanted, count);
	else if (own)
		set = own_wait_set(wanted[0]);
	else
		set = passing = passing_wait_set(wanted, count);

	noccurred = WaitEventSetWait(set, timeout_ms, occurred, lengthof(occurred),
								 PG_WAIT_EXTENSION);
	if (passing != NULL)
		FreeWaitEventSet(passing);
	pfree(wanted);

	for (int i = 0; i < noccurred; i++)
	{
		Session *session = occurred[i].user_data;

		if (occurred[i].events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		else if (occurred[i].events & WL_POSTMASTER_DEATH)
			postmaster_died();
		else if (session != NULL && several && session->wire->kept_wait != kept.wait)
			forget_kept_set();
		else if (session != NULL)
			socket_ready(session, occurred[i].events);
	}
}

/* Milliseconds until the first attempt to connect is to be looked at, or limit if sooner.
 */
static long
until_connect_time(Session **sessions, int nsessions, long limit)
{
	TimestampTz now = 0;

	for (int i = 0; i < nsessions; i++)
	{
		long left;

		if (sessions[i]->state != SESSION_CONNECTING)
			continue;
		if (now == 0)
			now = GetCurrentTimestamp();
		left = connect_time_left(sessions[i], now);
		if (limit < 0 || left < limit)
			limit = left;
	}
	return limit;
}

static bool
under_way(Session **sessions, int nsessions)
{
	for (int i = 0; i < nsessions; i++)
		if (wanted_events(sessions[i]) != 0 || sessions[i]->state == SESSION_CONNECTING)
			return true;
	return false;
}

/* session_wait_any() for an array. */
Session *
wire_wait(Session **sessions, int nsessions, long timeout_ms)
{
	TimestampTz start = timeout_ms > 0 ? GetCurrentTimestamp() : 0;

	check_interrupts();
	for (;;)
	{
		Session *ready = next_ready(sessions, nsessions);
		long left = timeout_ms;

		if (ready != NULL)
			return ready;
		if (!under_way(sessions, nsessions))
			return NULL;
		if (InterruptHoldoffCount > 0 && (QueryCancelPending || ProcDiePending))
			return NULL;
		check_interrupts();

		if (timeout_ms > 0)
		{
			left -= TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
			if (left <= 0)
				return NULL;
		}
		sleep_on(sessions, nsessions, until_connect_time(sessions, nsessions, left));
		for (int i = 0; i < nsessions; i++)
			connect_check_time(sessions[i]);
		if (timeout_ms == 0)
			return next_ready(sessions, nsessions);
	}
}

/* Sleeps until the session's socket takes more, or has something to say. */
void
wire_wait_writable(Session *session)
{
	check_interrupts();
	sleep_on(&session, 1, InterruptHoldoffCount > 0 ? 1000 : -1);
}

Session *
session_wait_any(List *sessions, long timeout_ms)
{
	Session *few[8];
	Session **array = few;
	int count = 0;
	Session *ready;

	if (list_length(sessions) > lengthof(few))
		array = palloc(sizeof(Session *) * list_length(sessions));
	foreach_ptr (Session, session, sessions)
		array[count++] = session;
	ready = wire_wait(array, count, timeout_ms);
	if (array != few)
		pfree(array);
	return ready;
}

static Session **
session_array(List *sessions, int *count)
{
	Session **array = palloc(sizeof(Session *) * Max(list_length(sessions), 1));

	*count = 0;
	foreach_ptr (Session, session, sessions)
		array[(*count)++] = session;
	return array;
}

void
session_await_savepoints(List *sessions, long timeout_ms)
{
	TimestampTz start = GetCurrentTimestamp();
	int count;
	Session **waiting = session_array(sessions, &count);

	for (;;)
	{
		long left =
			timeout_ms - TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
		int still = 0;

		for (int i = 0; i < count; i++)
		{
			if (request_awaits_savepoint(waiting[i]))
				wire_pump(waiting[i]);
			if (request_awaits_savepoint(waiting[i]))
				waiting[still++] = waiting[i];
		}
		count = still;
		if (count == 0 || left <= 0 || ProcDiePending)
			break;
		sleep_on(waiting, count, left);
	}
	for (int i = 0; i < count; i++)
		session_abandon(waiting[i], "it did not make a savepoint in time");
	pfree(waiting);
}

void
session_wait_all(List *sessions, long timeout_ms)
{
	TimestampTz start = GetCurrentTimestamp();
	int count;
	Session **waiting = session_array(sessions, &count);

	while (count > 0)
	{
		long passed = TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
		Session *ready =
			passed < timeout_ms ? wire_wait(waiting, count, timeout_ms - passed) : NULL;
		int i = 0;

		if (ready == NULL)
			break;
		while (waiting[i] != ready)
			i++;
		waiting[i] = waiting[--count];
	}
	pfree(waiting);
}
