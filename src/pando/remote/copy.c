/*
 * copy.c: COPY data to and from a node.
 *
 * Bytes for the node are collected here and given to libpq in slices, only as fast as the
 * socket takes them, since libpq moves what it could not send at each partial write. When
 * more than citus.remote_copy_flush_threshold waits for one node, the caller waits too.
 */
#include "pando/compat/compat.h"

#include "pando/remote/wire.h"
#include "utils/memutils.h"

#define SLICE (64 * 1024)
#define PIECE                                                                            \
	(16 * SLICE) /* of what is put at once; long rows are not kept here whole            \
				  */

int
session_copy_get(Session *session, const char **data)
{
	SessionWire *wire = session->wire;

	if (wire->copy_taken != NULL)
	{
		PQfreemem(wire->copy_taken);
		wire->copy_taken = NULL;
	}
	wire_pump(session);
	if (wire->copy_row == NULL)
		return session->state == SESSION_COPY_OUT ? 0 : -1;
	wire->copy_taken = wire->copy_row;
	wire->copy_row = NULL;
	*data = wire->copy_taken;
	return wire->copy_row_length;
}

bool
session_await_copy(Session *session, SessionState wanted)
{
	while (session->state != wanted)
	{
		PGresult *result;
		bool ended = false;

		session_wait_any(list_make1(session), -1);
		if (session->state == SESSION_DEAD)
			session_raise_lost(session, ERROR);
		while (session->state != wanted && (result = session_result(session)) != NULL)
		{
			if (PQresultStatus(result) == PGRES_FATAL_ERROR)
				session_raise(session, result, ERROR);
			ended = wanted == SESSION_COPY_OUT &&
					strncmp(PQcmdStatus(result), "COPY", 4) == 0;
			session_result_free(result);
			if (ended)
				return false;
		}
		if (session->state == SESSION_IDLE)
			ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
							errmsg("node %s:%d did not start COPY", session->address.host,
								   session->address.port)));
	}
	return true;
}

/* Bytes that libpq has not got yet. */
static int
copy_in_kept(const Session *session)
{
	return session->wire->copy_in.len - session->wire->copy_in_sent;
}

/* Gives libpq what the socket takes without waiting; whole slices only unless `all`. */
static void
copy_in_push(Session *session, bool all)
{
	SessionWire *wire = session->wire;
	StringInfo buffer = &wire->copy_in;

	for (;;)
	{
		int left = copy_in_kept(session);
		int slice = Min(left, SLICE);

		if (left == 0 || (left < SLICE && !all) || session->state != SESSION_COPY_IN)
			break;
		if (wire->unsent)
			wire_flush(session);
		if (wire->unsent)
			break;
		if (PQputCopyData(session->conn, buffer->data + wire->copy_in_sent, slice) < 0)
		{
			wire_lost(session, PQerrorMessage(session->conn));
			break;
		}
		wire->copy_in_sent += slice;
		wire_flush(session);
	}
	if (wire->copy_in_sent == buffer->len)
	{
		wire->copy_in_sent = 0;
		resetStringInfo(buffer);
	}
	else if (wire->copy_in_sent > buffer->maxlen / 2)
	{
		memmove(buffer->data, buffer->data + wire->copy_in_sent,
				buffer->len - wire->copy_in_sent);
		buffer->len -= wire->copy_in_sent;
		wire->copy_in_sent = 0;
	}
}

/* Waits until no more than limit bytes are kept here; all sessions' data moves meanwhile.
 */
static void
copy_in_drain(Session *session, int limit, bool all)
{
	SessionWire *wire = session->wire;

	copy_in_push(session, all);
	while (session->state == SESSION_COPY_IN && copy_in_kept(session) > limit &&
		   wire->unsent)
	{
		foreach_ptr (Session, other, session_claimed_list())
		{
			if (other != session && other->state == SESSION_COPY_IN)
				copy_in_push(other, false);
		}
		wire_wait_writable(session);
		copy_in_push(session, all);
	}
}

/*
 * Takes so many bytes that they are worth a look at the socket at most. One that is full
 * is not asked again for each row: where the node is slower than we are that would be
 * most of what we do.
 */
static void
copy_in_take(Session *session, const char *data, int length)
{
	SessionWire *wire = session->wire;

	appendBinaryStringInfo(&wire->copy_in, data, length);
	if (copy_in_kept(session) < Max(wire->copy_in_next, SLICE))
		return;
	copy_in_push(session, false);
	if (copy_in_kept(session) > Max(remote_copy_flush_threshold, SLICE))
		copy_in_drain(session, remote_copy_flush_threshold, false);
	wire->copy_in_next = wire->unsent ? copy_in_kept(session) + SLICE : 0;
	if (session->state == SESSION_DEAD)
		session_raise_lost(session, ERROR);
}

void
session_copy_put(Session *session, const char *data, int length)
{
	if (session->state == SESSION_DEAD)
		session_raise_lost(session, ERROR);
	if (session->state != SESSION_COPY_IN)
		elog(ERROR, "session to %s:%d is not in COPY", session->address.host,
			 session->address.port);
	while (length > 0)
	{
		int piece = Min(length, PIECE);

		copy_in_take(session, data, piece);
		data += piece;
		length -= piece;
	}
}

void
session_copy_end(Session *session, const char *error)
{
	SessionWire *wire = session->wire;

	if (session->state != SESSION_COPY_IN)
		return;
	if (error == NULL)
		copy_in_drain(session, 0, true);
	wire->copy_in_sent = wire->copy_in_next = 0;
	resetStringInfo(&wire->copy_in);
	/* A buffer that grew large is not kept with an idle session. */
	if (wire->copy_in.maxlen > 4 * SLICE)
	{
		pfree(wire->copy_in.data);
		MemoryContext old = MemoryContextSwitchTo(wire->context);
		initStringInfo(&wire->copy_in);
		MemoryContextSwitchTo(old);
	}
	if (session->state != SESSION_COPY_IN)
		return;
	if (PQputCopyEnd(session->conn, error) < 0)
	{
		wire_lost(session, PQerrorMessage(session->conn));
		return;
	}
	session->state = SESSION_BUSY;
	wire->reported = false;
	wire_flush(session);
}
