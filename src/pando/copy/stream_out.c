/*
 * stream_out.c: rows on their way to one node; see the header for what travels.
 *
 * The COPY is sent with the first full block, or at the end, and the first blocks wait in
 * memory until the node answers, so that all nodes are started before any is waited for.
 * From then on each block goes out when it is full; only a full socket makes this wait. A
 * long row is a block by itself.
 * Where another statement needs the session in between, the COPY ends and a new one
 * follows.
 */
#include "pando/compat/compat.h"

#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "pando/copy/stream_out.h"
#include "pando/transaction/access.h"
#include "pando/transaction/xact.h"

#define BLOCK_BYTES 65536
#define BLOCK_ROWS 8192

/* Blocks kept back while the node has not answered the COPY yet. */
#define BACKLOG_BYTES (1024 * 1024)

/* A row that goes straight to its session. */
#define LONG_ROW BACKLOG_BYTES

struct StreamOut
{
	SessionHolder holder; /* first: drain gets it */
	const DistNode *node;
	const char *command;
	CopyLine *line;
	MemoryContext context;
	Session *session; /* NULL while no COPY is under way */
	bool ready;		  /* the node takes data */

	StringInfoData backlog; /* complete blocks that could not be sent yet */
	StringInfoData lines;	/* of the block at hand */
	bool columns_checked;
	StringInfoData bytes;
	int nrows;
	uint64 first_line;
	uint64 sent;   /* rows added so far */
	uint64 stored; /* as counted by the COPYs that have ended */
};

static void stream_drain(SessionHolder *holder);

/* A MemoryContextCallback: the stream's memory goes. */
static void
stream_forget(void *arg)
{
	session_unhold(&((StreamOut *) arg)->holder);
}

StreamOut *
stream_out_make(const DistNode *node, const char *command, bool columns_checked,
				CopyLine *line)
{
	StreamOut *stream = palloc0(sizeof(StreamOut));
	MemoryContextCallback *callback;

	stream->node = node;
	stream->command = command;
	stream->columns_checked = columns_checked;
	stream->line = line;
	stream->context = CurrentMemoryContext;
	stream->holder.drain = stream_drain;
	callback = palloc0(sizeof(MemoryContextCallback));
	callback->func = stream_forget;
	callback->arg = stream;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	initStringInfo(&stream->backlog);
	initStringInfo(&stream->lines);
	initStringInfo(&stream->bytes);
	return stream;
}

static void
stream_start(StreamOut *stream)
{
	MemoryContext old;

	if (stream->session != NULL)
		return;
	old = MemoryContextSwitchTo(stream->context);
	stream->session = xact_session(stream->node, XACT_WRITE);
	/* Rows have columns that the client may not insert into, filled with defaults. */
	session_send_simple(stream->session,
						stream->columns_checked
							? access_sign_order(stream->session, stream->command)
							: stream->command);
	session_hold(stream->session, &stream->holder);
	stream->ready = false;
	MemoryContextSwitchTo(old);
}

/* Raises what the node reports instead of taking (more) data. */
static void
stream_raise(StreamOut *stream)
{
	PGresult *result;

	stream->line->remote = true;
	if (stream->session->state == SESSION_DEAD)
		session_raise_lost(stream->session, ERROR);
	while ((result = session_result(stream->session)) != NULL)
	{
		if (PQresultStatus(result) == PGRES_FATAL_ERROR)
			session_raise(stream->session, result, ERROR);
		session_result_free(result);
	}
	stream->line->remote = false;
	ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
					errmsg("node %s:%d stopped reading COPY data", stream->node->host,
						   stream->node->port)));
}

/* Is the node reading? With `wait`, until it is. */
static bool
stream_ready(StreamOut *stream, bool wait)
{
	while (!stream->ready)
	{
		Session *session = stream->session;

		if (session->state == SESSION_COPY_IN)
			stream->ready = true;
		else if (session->state == SESSION_DEAD)
			stream_raise(stream);
		else if (session_wait_any(list_make1(session), wait ? -1 : 0) != NULL)
		{
			PGresult *result;

			if (session->state == SESSION_COPY_IN)
				continue;
			result = session_result(session);
			if (result != NULL && PQresultStatus(result) == PGRES_FATAL_ERROR)
			{
				stream->line->remote = true;
				session_raise(session, result, ERROR);
			}
			session_result_free(result);
			if (session->state == SESSION_IDLE || session->state == SESSION_DEAD)
				stream_raise(stream);
		}
		else if (!wait)
			return false;
	}
	return true;
}

static void
stream_put(StreamOut *stream, StringInfo data)
{
	Session *session = stream->session;

	if (data->len == 0)
		return;

	/* A node that has failed says so while we still send. */
	if (session->state == SESSION_COPY_IN)
		session_wait_any(list_make1(session), 0);
	if (session->state != SESSION_COPY_IN)
		stream_raise(stream);
	session_copy_put(session, data->data, data->len);
	resetStringInfo(data);
}

/* Appends what goes ahead of a block's bytes to the backlog. */
static void
block_head(StreamOut *stream, int nbytes)
{
	uint32 word;
	uint64 first;

	word = pg_hton32(stream->nrows);
	appendBinaryStringInfo(&stream->backlog, (char *) &word, 4);
	word = pg_hton32(nbytes);
	appendBinaryStringInfo(&stream->backlog, (char *) &word, 4);
	first = pg_hton64(stream->first_line);
	appendBinaryStringInfo(&stream->backlog, (char *) &first, 8);
	appendBinaryStringInfo(&stream->backlog, stream->lines.data, stream->lines.len);
}

/* Closes the block at hand and appends it to the backlog. */
static void
block_close(StreamOut *stream)
{
	if (stream->nrows == 0)
		return;
	block_head(stream, stream->bytes.len);
	appendBinaryStringInfo(&stream->backlog, stream->bytes.data, stream->bytes.len);
	resetStringInfo(&stream->lines);
	resetStringInfo(&stream->bytes);
	stream->nrows = 0;
}

/* A row that is a block by itself, and not copied. */
static void
long_row_send(StreamOut *stream, const char *bytes, int length)
{
	block_head(stream, length);
	resetStringInfo(&stream->lines);
	stream->nrows = 0;
	stream_start(stream);
	(void) stream_ready(stream, true);
	stream_put(stream, &stream->backlog);
	session_copy_put(stream->session, bytes, length);
}

void
stream_out_row(StreamOut *stream, const char *bytes, int length, uint64 line)
{
	uint32 after;

	if (length >= LONG_ROW)
		block_close(stream);
	if (stream->nrows == 0)
		stream->first_line = line;
	after = pg_hton32((uint32) (line - stream->first_line));
	appendBinaryStringInfo(&stream->lines, (char *) &after, 4);
	stream->nrows++;
	stream->sent++;
	if (length >= LONG_ROW)
	{
		long_row_send(stream, bytes, length);
		return;
	}
	appendBinaryStringInfo(&stream->bytes, bytes, length);

	if (stream->bytes.len < BLOCK_BYTES && stream->nrows < BLOCK_ROWS)
		return;
	block_close(stream);
	stream_start(stream);
	if (stream_ready(stream, stream->backlog.len >= BACKLOG_BYTES))
		stream_put(stream, &stream->backlog);
}

/* Sends what is complete and ends the COPY, without waiting for the node's verdict. */
static void
stream_end(StreamOut *stream)
{
	stream_ready(stream, true);
	stream_put(stream, &stream->backlog);
	session_copy_end(stream->session, NULL);
}

/* Waits for the node's verdict. */
static void
stream_result(StreamOut *stream)
{
	PGresult *result;

	stream->line->remote = true;
	result = session_finish(stream->session);
	stream->line->remote = false;
	if (result != NULL)
	{
		stream->stored += strtoull(PQcmdTuples(result), NULL, 10);
		session_result_free(result);
	}
	session_unhold(&stream->holder);
	stream->session = NULL;
}

/*
 * Another statement of this backend needs the session (a function in WHERE, a default, a
 * trigger): this COPY ends, the next full block starts another.
 */
static void
stream_drain(SessionHolder *holder)
{
	StreamOut *stream = (StreamOut *) holder;

	stream_end(stream);
	stream_result(stream);
}

uint64
stream_out_finish(List *streams)
{
	uint64 skipped = 0;

	foreach_ptr (StreamOut, stream, streams)
	{
		block_close(stream);
		if (stream->backlog.len > 0)
			stream_start(stream);
	}
	foreach_ptr (StreamOut, stream, streams)
	{
		if (stream->session != NULL)
			stream_end(stream);
	}
	foreach_ptr (StreamOut, stream, streams)
	{
		if (stream->session != NULL)
			stream_result(stream);
		skipped += stream->sent - stream->stored;
	}
	return skipped;
}
