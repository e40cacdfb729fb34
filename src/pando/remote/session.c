/*
 * session.c: the life of sessions and the backend's pool of them.
 *
 * All sessions of the backend are on one list. A claimed one belongs to the current
 * transaction; the others are idle connections kept for later. Before an idle one is
 * handed out its socket is looked at: a restarted node shows as end of file, and costs a
 * new connection instead of an error.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "pando/base/counter.h"
#include "pando/remote/wire.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define CANCEL_WAIT_MS 5000
#define CANCEL_REQUEST_MS 2000

/* Files that sessions leave to sets of sockets that are waited for, and to others. */
#define SPARE_FILES 4

/* A message of more than that leaves libpq with buffers too large to be kept. */
#define MAX_KEPT_BYTES (32 * 1024 * 1024)

static dlist_head pool = DLIST_STATIC_INIT(pool);
static bool exit_registered = false;
static const char *(*name_function)(void) = NULL;
static void (*guard_function)(void) = NULL;

void
session_register_name(const char *(*name)(void) )
{
	name_function = name;
}

void
session_register_guard(void (*guard)(void))
{
	guard_function = guard;
}

static const char *
session_name(void)
{
	return name_function ? name_function() : "citus_internal gpid=0";
}

static void
close_all(int code, Datum arg)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify (iter, &pool)
	{
		Session *session = dlist_container(Session, link, iter.cur);

		/* A node that waits for a lock does not notice that nobody listens. */
		if ((session->state == SESSION_BUSY || session->state == SESSION_COPY_OUT) &&
			!session->wire->left)
			(void) session_request_cancel(session, CANCEL_REQUEST_MS);
		if (!session->claimed)
		{
			session_close(session);
			continue;
		}
		/* The transaction is rolled back after us and looks at its sessions. */
		session_abandon(session, "this server process ends");
		shared_pool_leave(session->wire->pool);
		session->wire->pool = NULL;
	}
	shared_pool_end_turn();
}

/* ------------------------------------------------------------------------------------
 * Files: each connection is one, and the core lets us have a third of a process's.
 */

/* How many more sessions may have one, if that is less than `most`. */
static int
free_files(int most)
{
	int count = 0;

	while (count < most + SPARE_FILES && AcquireExternalFD())
		count++;
	for (int i = 0; i < count; i++)
		ReleaseExternalFD();
	return Max(count - SPARE_FILES, 0);
}

bool
session_files_left(void)
{
	return free_files(1) > 0;
}

/* Closes what is only kept for speed, least recently used first, until a file is free. */
static bool
make_free_file(void)
{
	dlist_iter iter;

	dlist_foreach (iter, &pool)
	{
		if (session_files_left())
			return true;
		wire_forget_own_set(dlist_container(Session, link, iter.cur));
	}
	while (!session_files_left())
	{
		Session *oldest = NULL;

		dlist_foreach (iter, &pool)
		{
			Session *session = dlist_container(Session, link, iter.cur);

			if (!session->claimed)
				oldest = session;
		}
		if (oldest == NULL)
			return false;
		session_close(oldest);
	}
	return true;
}

void
session_require_room(int count)
{
	dlist_iter iter;
	int room = 0;

	dlist_foreach (iter, &pool)
	{
		Session *session = dlist_container(Session, link, iter.cur);

		room += !session->claimed + (session->wire->wait_set != NULL);
	}
	if (room < count)
		room += free_files(count - room);
	if (room < count)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("cannot connect to %d more nodes at once", count),
				 errdetail("Of the files that this server process may have open, "
						   "%d are left for connections.",
						   room),
				 errhint("Raise the server's max_files_per_process and/or \"ulimit -n\" "
						 "limits; connections may be a third of the files.")));
}

/* A session without a connection; on the pool's list, claimed. */
static Session *
session_create(const NodeAddress *address, Oid userid, const char *name)
{
	MemoryContext context =
		AllocSetContextCreate(TopMemoryContext, "pando session", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Session *session = palloc0(sizeof(Session));
	SessionWire *wire = palloc0(sizeof(SessionWire));

	session->address = *address;
	session->address.host = pstrdup(address->host);
	session->userid = userid;
	session->state = SESSION_DEAD;
	session->claimed = true;
	session->wire = wire;
	initStringInfo(&session->preamble);
	wire->context = context;
	wire->request_context =
		AllocSetContextCreate(context, "pando request", ALLOCSET_SMALL_SIZES);
	wire->name = pstrdup(name);
	initStringInfo(&wire->copy_in);
	dlist_init(&wire->prepared);
	MemoryContextSwitchTo(old);

	dlist_push_head(&pool, &session->link);
	if (!exit_registered)
	{
		before_shmem_exit(close_all, 0);
		exit_registered = true;
	}
	return session;
}

/* Opens a new session; on error nothing of it stays. NULL: an extra one has no place. */
static Session *
session_open(const NodeAddress *address, Oid userid, const char *name, bool extra)
{
	bool has_claimed = session_claimed_list() != NIL;
	Session *session = session_create(address, userid, name);

	PG_TRY();
	{
		bool has_place = true;

		session->wire->needed = !extra;
		if (extra)
			has_place = shared_pool_try(address->host, address->port, false,
										&session->wire->pool);
		else
			session->wire->pool =
				shared_pool_enter(address->host, address->port, has_claimed);
		session->wire->fd_acquired = has_place &&
									 (extra ? session_files_left() : make_free_file()) &&
									 AcquireExternalFD();
		if (session->wire->fd_acquired)
			connect_start(session);
		else if (!extra)
			ereport(ERROR,
					(errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
					 errmsg("could not connect to the remote node %s:%d", address->host,
							address->port),
					 errdetail("There are too many open files on this server."),
					 errhint("Raise the server's max_files_per_process and/or \"ulimit "
							 "-n\" limits.")));
	}
	PG_CATCH();
	{
		session_close(session);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (!session->wire->fd_acquired)
	{
		session_close(session);
		return NULL;
	}
	return session;
}

static bool
too_old(const Session *session)
{
	return remote_max_cached_lifetime >= 0 &&
		   TimestampDifferenceExceeds(session->wire->opened, GetCurrentTimestamp(),
									  remote_max_cached_lifetime);
}

/* Takes in what an idle connection got unasked: notices, or its end. */
static bool
idle_is_healthy(Session *session)
{
	for (int i = 0; i < 8 && wire_socket_readable(session); i++)
	{
		if (PQconsumeInput(session->conn) != 1)
			return false;
		(void) PQisBusy(session->conn);
	}
	return PQstatus(session->conn) == CONNECTION_OK;
}

/* Throws away what the request still brings. */
static void
discard_arrived(Session *session)
{
	PGresult *result;
	const char *data;

	wire_pump(session);
	while (session->state == SESSION_COPY_OUT && session_copy_get(session, &data) > 0)
		;
	while ((result = session_result(session)) != NULL)
		session_result_free(result);
}

void
session_leave(Session *session)
{
	session->wire->left = session->state == SESSION_BUSY;
}

/* Takes in the end of a request that was left. */
static void
end_left(Session *session)
{
	while (session->wire->left)
	{
		discard_arrived(session);
		if (session->state == SESSION_BUSY && wire_wait(&session, 1, -1) == NULL)
			session_abandon(session, "its last transaction did not end in time");
		if (session->state != SESSION_BUSY)
			session->wire->left = false;
	}
}

static Session *
claim(const NodeAddress *address, Oid userid, bool extra)
{
	const char *name = session_name();
	dlist_mutable_iter iter;

	if (guard_function != NULL)
		guard_function();
	dlist_foreach_modify (iter, &pool)
	{
		Session *session = dlist_container(Session, link, iter.cur);

		if (session->claimed || session->userid != userid ||
			session->address.port != address->port ||
			session->pooled != (address->pooler && session->wire->has_pooler) ||
			strcmp(session->address.host, address->host) != 0)
			continue;
		end_left(session);
		if (strcmp(session->wire->name, name) != 0 || too_old(session) ||
			session->state != SESSION_IDLE || !idle_is_healthy(session))
		{
			session_close(session);
			continue;
		}
		counter_add(COUNTER_CONNECTION_REUSED);
		session->claimed = true;
		session->address.node_id = address->node_id;
		session->address.group = address->group;
		return session;
	}
	return session_open(address, userid, name, extra);
}

Session *
session_claim(const NodeAddress *address, Oid userid)
{
	return claim(address, userid, false);
}

Session *
session_claim_extra(const NodeAddress *address, Oid userid)
{
	return claim(address, userid, true);
}

static int
count_idle(const NodeAddress *address)
{
	dlist_iter iter;
	int count = 0;

	dlist_foreach (iter, &pool)
	{
		Session *session = dlist_container(Session, link, iter.cur);

		if (!session->claimed && session->address.port == address->port &&
			strcmp(session->address.host, address->host) == 0)
			count++;
	}
	return count;
}

/* Those to the address that no transaction uses. */
static void
close_idle_to(const NodeAddress *address)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify (iter, &pool)
	{
		Session *session = dlist_container(Session, link, iter.cur);

		if (!session->claimed && session->address.port == address->port &&
			strcmp(session->address.host, address->host) == 0)
			session_close(session);
	}
}

Session *
session_claim_apart(const NodeAddress *address, Oid userid)
{
	Session *session;

	if (guard_function != NULL)
		guard_function();
	/* Who keeps one has had his turn, and must not wait for the place that it takes. */
	if (count_idle(address) > 0)
	{
		session = session_open(address, userid, session_name(), true);
		if (session != NULL)
		{
			session->wire->needed = true;
			return session;
		}
		close_idle_to(address);
	}
	return session_open(address, userid, session_name(), false);
}

void
session_release(Session *session)
{
	SessionWire *wire = session->wire;

	if ((session->state != SESSION_IDLE && !wire->left) || session->in_xact ||
		session->failed || wire->pending != NULL || wire->unsent ||
		session->gid != NULL ||
		(PQtransactionStatus(session->conn) != PQTRANS_IDLE && !wire->left) ||
		too_old(session) || wire->longest > MAX_KEPT_BYTES ||
		count_idle(&session->address) >= remote_max_cached_sessions)
	{
		session_close(session);
		return;
	}
	resetStringInfo(&session->preamble);
	MemoryContextReset(wire->request_context);
	session->wrote = false;
	session->savepoint_depth = 0;
	session->claimed = false;
	dlist_move_head(&pool, &session->link);
	shared_pool_keep();
}

/* Is the turn over of a session that is idle? */
static bool
turn_is_over(void)
{
	TimestampTz now = GetCurrentTimestamp();
	dlist_iter iter;

	dlist_foreach (iter, &pool)
	{
		Session *session = dlist_container(Session, link, iter.cur);

		if (!session->claimed && now >= session->wire->turn_end)
			return true;
	}
	return false;
}

void
session_share_idle(void)
{
	bool wanted = shared_pool_turn_wanted();
	dlist_mutable_iter iter;

	if (!wanted && !shared_pool_asked())
		return;
	if (!turn_is_over())
		wanted = false;
	dlist_foreach_modify (iter, &pool)
	{
		Session *session = dlist_container(Session, link, iter.cur);
		SessionWire *wire = session->wire;

		if (session->claimed)
			continue;
		if (wanted || (shared_pool_place_wanted(wire->pool) &&
					   GetCurrentTimestamp() >= wire->turn_end))
			session_close(session);
		else
			shared_pool_keep();
	}
}

void
session_close(Session *session)
{
	SessionWire *wire = session->wire;

	if (session->holder != NULL)
		session_unhold(session->holder);
	dlist_delete(&session->link);
	wire_forget_socket(session);
	if (wire->pending != NULL)
		PQclear(wire->pending);
	if (wire->copy_row != NULL)
		PQfreemem(wire->copy_row);
	if (wire->copy_taken != NULL)
		PQfreemem(wire->copy_taken);
	if (session->conn != NULL)
		PQfinish(session->conn);
	if (wire->fd_acquired)
		ReleaseExternalFD();
	shared_pool_leave(wire->pool);
	MemoryContextDelete(wire->context);
	if (dlist_is_empty(&pool))
		shared_pool_end_turn();
}

void
session_abandon(Session *session, const char *why)
{
	wire_lost(session, why);
	if (session->conn != NULL)
		PQfinish(session->conn);
	session->conn = NULL;
}

List *
session_claimed_list(void)
{
	List *claimed = NIL;
	dlist_iter iter;

	dlist_foreach (iter, &pool)
	{
		Session *session = dlist_container(Session, link, iter.cur);

		if (session->claimed)
			claimed = lappend(claimed, session);
	}
	return claimed;
}

void
session_close_idle(bool (*keep)(const Session *session))
{
	dlist_mutable_iter iter;

	dlist_foreach_modify (iter, &pool)
	{
		Session *session = dlist_container(Session, link, iter.cur);

		if (!session->claimed && !keep(session))
			session_close(session);
	}
}

void
session_cancel_start(Session *session)
{
	if (session->holder != NULL)
		session_unhold(session->holder);
	if (session->state == SESSION_CONNECTING)
		wire_lost(session, "the attempt was cancelled");
	discard_arrived(session);
	if (session->state == SESSION_COPY_IN)
		session_copy_end(session, "COPY was cancelled");
	else if (session->state != SESSION_IDLE && session->state != SESSION_DEAD &&
			 !session->wire->unsent &&
			 !session_request_cancel(session, CANCEL_REQUEST_MS))
		session_abandon(session, "the node did not take a cancel request in time");
}

void
session_cancel(Session *session)
{
	TimestampTz start = GetCurrentTimestamp();

	session_cancel_start(session);
	for (;;)
	{
		int left;

		discard_arrived(session);
		if (session->state == SESSION_COPY_IN)
			session_copy_end(session, "COPY was cancelled");
		if (session->state == SESSION_IDLE || session->state == SESSION_DEAD)
			return;
		left = CANCEL_WAIT_MS -
			   TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());
		if (left <= 0 || wire_wait(&session, 1, left) == NULL)
			break;
	}
	session_abandon(session, "the node did not end a cancelled command in time");
}
