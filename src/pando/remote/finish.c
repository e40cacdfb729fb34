/*
 * finish.c: results of a request, one by one or to its end.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "pando/remote/wire.h"

/* More than a socket's buffer holds: who still sends after that has not failed. */
#define ARRIVED_READS 1000

PGresult *
session_result(Session *session)
{
	SessionWire *wire = session->wire;
	PGresult *result;

	wire_pump(session);
	result = wire->pending;
	wire->pending = NULL;
	if (result != NULL)
		result_track(result);
	else if (session->state == SESSION_IDLE || session->state == SESSION_DEAD)
		wire->reported = true;
	return result;
}

static bool
is_error(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

/* What has arrived is taken: the first error goes to *error, the last result that is none
 * to *last. */
static void
take_arrived(Session *session, PGresult **error, PGresult **last)
{
	PGresult *result;

	if (session->state == SESSION_COPY_OUT)
	{
		const char *data;

		while (session_copy_get(session, &data) > 0)
			;
	}
	while ((result = session_result(session)) != NULL)
	{
		PGresult **slot = is_error(result) ? error : last;

		if (slot == error && *error != NULL)
			session_result_free(result);
		else
		{
			session_result_free(*slot);
			*slot = result;
		}
	}
}

/* Takes results until the request is over; the first error goes to *error, the last
 * result that is none is returned. A node that is silent for timeout_ms (-1: no limit) is
 * lost.
 */
static PGresult *
collect(Session *session, PGresult **error, long timeout_ms)
{
	PGresult *last = NULL;

	while (session->state != SESSION_IDLE || session->wire->pending != NULL)
	{
		if (session->state == SESSION_DEAD && session->wire->pending == NULL)
			break;
		if (session->state == SESSION_COPY_IN)
			session_copy_end(session, "no data was expected");
		take_arrived(session, error, &last);
		if (session->state != SESSION_IDLE && session->state != SESSION_DEAD &&
			wire_wait(&session, 1, timeout_ms) == NULL && session->state != SESSION_IDLE)
			wire_lost(session, "the wait for the node was given up");
	}
	return last;
}

/* The first error among what has arrived of the request, all of which is taken and thrown
 * away but that; NULL: none. Does not wait. */
static PGresult *
session_error(Session *session)
{
	PGresult *error = NULL;
	PGresult *last = NULL;

	/* What comes before a session is connected is libpq's to read. */
	for (int i = 0; i < ARRIVED_READS && session->state != SESSION_CONNECTING; i++)
	{
		CHECK_FOR_INTERRUPTS();
		take_arrived(session, &error, &last);
		if (error != NULL || !wire_socket_readable(session))
			break;
		wire_read(session);
	}
	session_result_free(last);
	return error;
}

void
session_raise_reason(Session *session, const PGresult *error, List *sessions)
{
	if (session_error_is(error, ERRCODE_UNDEFINED_OBJECT))
	{
		foreach_ptr (Session, other, sessions)
		{
			PGresult *reason = other != session ? session_error(other) : NULL;

			if (reason != NULL && !session_error_is(reason, ERRCODE_UNDEFINED_OBJECT))
				session_raise(other, reason, ERROR);
		}
	}
	session_raise(session, error, ERROR);
	pg_unreachable();
}

PGresult *
session_finish(Session *session)
{
	PGresult *error = NULL;
	PGresult *last = collect(session, &error, -1);

	if (error != NULL)
		session_raise(session, error, ERROR);
	if (session->state == SESSION_DEAD)
		session_raise_lost(session, ERROR);
	return last;
}

PGresult *
session_run(Session *session, const char *sql)
{
	session_send_simple(session, sql);
	return session_finish(session);
}

PGresult *
session_try_finish(Session *session, long timeout_ms)
{
	PGresult *error = NULL;
	PGresult *last = collect(session, &error, timeout_ms);

	if (error == NULL && session->state != SESSION_DEAD)
		return last;
	session_result_free(error);
	session_result_free(last);
	return NULL;
}
