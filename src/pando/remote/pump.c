/*
 * pump.c: what goes to nodes and what comes back, as far as libpq and the socket take it.
 *
 * wire_pump() moves a session on with what libpq has already read: it drops the
 * preamble's results, keeps at most one result or COPY row in hand, and notices the
 * request's end or the loss of the connection. Nothing here waits, but for a node that is
 * about to read many bytes.
 */
#include "pando/compat/compat.h"

#include <poll.h>
#include <sys/socket.h>

#include "pando/base/counter.h"
#include "pando/remote/wire.h"

#define BULK_PATIENCE_US 100000

/* The connection is gone; why is libpq's text. */
void
wire_lost(Session *session, const char *why)
{
	SessionWire *wire = session->wire;
	MemoryContext old = MemoryContextSwitchTo(wire->context);

	if (session->state == SESSION_CONNECTING)
		counter_add(COUNTER_CONNECTION_FAILED);
	if (session->state != SESSION_DEAD)
	{
		wire->lost = error_trim(why);
		wire->reported = false;
	}
	MemoryContextSwitchTo(old);
	session->state = SESSION_DEAD;
	wire->queued.kind = REQUEST_NONE;
	wire->unsent = false;
	wire_forget_socket(session);
}

static void
request_over(Session *session)
{
	SessionWire *wire = session->wire;

	if (wire->pipelined)
	{
		wire->pipelined = false;
		if (PQexitPipelineMode(session->conn) != 1)
		{
			wire_lost(session, PQerrorMessage(session->conn));
			return;
		}
	}
	wire->preparing = NULL;
	wire->unsent = false;
	session->state = SESSION_IDLE;
	session->failed = PQtransactionStatus(session->conn) == PQTRANS_INERROR;
}

/* An error result: the statement's own, the preamble's, or the connection's. */
static void
take_error(Session *session, PGresult *result)
{
	SessionWire *wire = session->wire;

	if (wire->preparing != NULL)
	{
		request_forget_prepared(session, wire->preparing);
		wire->preparing = NULL;
	}
	if (PQstatus(session->conn) == CONNECTION_BAD)
	{
		wire_lost(session, PQresultErrorMessage(result));
		PQclear(result);
		return;
	}
	if (!wire->pipelined)
		wire->swallow = 0;
	wire->pending = result;
}

/* One command of the pipeline is done. */
static void
pipeline_next(Session *session)
{
	SessionWire *wire = session->wire;

	if (wire->swallow == 0)
		return;
	wire->swallow--;
	if (wire->swallow == 0)
	{
		wire->preparing = NULL;
		if (wire->stream)
			(void) PQsetSingleRowMode(session->conn);
	}
}

/* One result from libpq; NULL is an end. */
static void
take_result(Session *session, PGresult *result)
{
	SessionWire *wire = session->wire;

	if (result == NULL)
	{
		if (PQstatus(session->conn) == CONNECTION_BAD)
			wire_lost(session, PQerrorMessage(session->conn));
		else if (wire->pipelined)
			pipeline_next(session);
		else
			request_over(session);
		return;
	}
	switch (PQresultStatus(result))
	{
		case PGRES_FATAL_ERROR:
		case PGRES_BAD_RESPONSE:
		case PGRES_NONFATAL_ERROR:
			take_error(session, result);
			return;
		case PGRES_PIPELINE_ABORTED:
			PQclear(result);
			return;
		case PGRES_PIPELINE_SYNC:
			PQclear(result);
			request_over(session);
			return;
		case PGRES_COPY_IN:
		case PGRES_COPY_OUT:
			session->state = PQresultStatus(result) == PGRES_COPY_IN ? SESSION_COPY_IN
																	 : SESSION_COPY_OUT;
			wire->reported = false;
			PQclear(result);
			return;
		case PGRES_COPY_BOTH:
			PQclear(result);
			wire_lost(session, "unexpected replication traffic");
			return;
		default:
			break;
	}
	if (wire->swallow > 0)
	{
		/* In a pipeline the NULL that follows counts. */
		if (!wire->pipelined)
			wire->swallow--;
		PQclear(result);
		return;
	}
	wire->longest = Max(wire->longest, PQresultMemorySize(result));
	wire->pending = result;
}

/* Takes a row of COPY data into hand if one is there. */
static void
pump_copy_out(Session *session)
{
	SessionWire *wire = session->wire;
	int length;

	if (wire->copy_row != NULL)
		return;
	length = PQgetCopyData(session->conn, &wire->copy_row, 1);
	if (length > 0)
	{
		wire->copy_row_length = length;
		wire->longest = Max(wire->longest, length);
		return;
	}
	wire->copy_row = NULL;
	if (length < 0)
	{
		/* End or error: the result says which. */
		session->state = SESSION_BUSY;
		wire->reported = false;
	}
}

/* Goes on as far as what was read allows, or until something is in hand. */
void
wire_pump(Session *session)
{
	SessionWire *wire = session->wire;

	/* The answer to a COPY and its rows may have come in one read. */
	for (;;)
	{
		if (session->state == SESSION_COPY_OUT)
			pump_copy_out(session);
		if (session->state != SESSION_BUSY || wire->pending != NULL ||
			PQisBusy(session->conn))
			break;
		take_result(session, PQgetResult(session->conn));
	}
	if (wire->notices != NIL)
		notice_emit(session);
}

/* Is there something to read, end of file included? Does not wait. */
bool
wire_socket_readable(Session *session)
{
	struct pollfd fd = {.fd = PQsocket(session->conn), .events = POLLIN};

	return fd.fd >= 0 && poll(&fd, 1, 0) > 0;
}

/* Reads what the socket has. */
void
wire_read(Session *session)
{
	if (PQconsumeInput(session->conn) == 1)
		return;

	/* The node's last words may be in the buffer: PQgetResult() won't wait any more. */
	while (session->state == SESSION_BUSY && session->wire->pending == NULL)
	{
		PGresult *result = PQgetResult(session->conn);

		if (result == NULL)
			break;
		take_result(session, result);
	}
	if (session->wire->pending == NULL)
		wire_lost(session, PQerrorMessage(session->conn));
}

/*
 * libpq moves all that is left to the front of its buffer each time the socket takes a
 * part, so that a statement of hundreds of MB would take time by the square of its length
 * if it left by a socket's buffer at a time. Here the kernel waits for the node to read,
 * for a moment that any signal ends. OpenSSL keeps its place in the buffer by itself.
 */
static int
flush_bulk(PGconn *conn)
{
	const struct timeval patience = {.tv_usec = BULK_PATIENCE_US};
	const struct timeval glance = {.tv_usec = 1};
	int fd = PQsocket(conn);
	int rc;

	if (fd < 0 || PQsslInUse(conn) ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &glance, sizeof(glance)) < 0 ||
		!pg_set_block(fd))
		return PQflush(conn);
	rc = PQflush(conn);
	pg_set_noblock(fd);
	return rc;
}

/* Sends what libpq holds; notes whether the socket took it all. */
void
wire_flush(Session *session)
{
	SessionWire *wire = session->wire;
	int rc = wire->bulk ? flush_bulk(session->conn) : PQflush(session->conn);

	/* On failure reading tells what happened: the node may have said why. */
	wire->unsent = rc > 0;
	wire->bulk &= wire->unsent;
}
