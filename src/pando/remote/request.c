/*
 * request.c: sending a statement and what goes ahead of it.
 *
 * Simple protocol: preamble and statement are one Query message, so a transaction's start
 * and its first statement cost one round trip. Parameterised statements use the extended
 * protocol; with a preamble, or with a statement still to be prepared, in pipeline mode.
 *
 * Statements sent for reuse are prepared under a name, up to MAX_PREPARED per session;
 * the one used longest ago makes room.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_collation.h"
#include "commands/prepare.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "pando/remote/wire.h"

/*
 * A statement on each shard of a node is one of its own, so that a client with a dozen
 * statements has hundreds. A simple one takes 12 kB there, and half a kB here.
 */
#define MAX_PREPARED 512

/* What is longer leaves in flush_bulk()'s way. */
#define BULK_BYTES (4 * 1024 * 1024)

/*
 * Takes the next statement of a preamble, which ends at a semicolon outside of quotes.
 * Returns false at the end. Preambles are made by this extension: '...' (E'' when there
 * are backslashes) and "..." are all the quoting they have.
 */
static bool
request_split(const char **cursor, StringInfo statement)
{
	const char *p = *cursor;
	bool seen = false;

	resetStringInfo(statement);
	while (*p != '\0' && *p != ';')
	{
		if (*p == '\'' || *p == '"')
		{
			char quote = *p;
			bool escapes = quote == '\'' && p > *cursor && p[-1] == 'E';

			appendStringInfoChar(statement, *p++);
			while (*p != '\0' && *p != quote)
			{
				if (escapes && *p == '\\' && p[1] != '\0')
					appendStringInfoChar(statement, *p++);
				appendStringInfoChar(statement, *p++);
			}
			if (*p == '\0')
				break;
			seen = true;
		}
		else if (*p != ' ' && *p != '\n')
			seen = true;
		appendStringInfoChar(statement, *p++);
	}
	*cursor = *p == ';' ? p + 1 : p;
	return seen;
}

static int
preamble_count(const char *preamble)
{
	StringInfoData statement;
	int count = 0;

	if (preamble[0] == '\0')
		return 0;
	initStringInfo(&statement);
	while (request_split(&preamble, &statement))
		count++;
	pfree(statement.data);
	return count;
}

/*
 * Notes the last savepoint that the preamble makes, and what the node has told of the one
 * before.
 */
static void
expect_savepoint(Session *session, const char *preamble)
{
	static const char command[] = "SAVEPOINT ";
	SessionWire *wire = session->wire;
	const char *told;
	StringInfoData statement;

	wire->savepoint[0] = '\0';
	if (strstr(preamble, command) == NULL)
		return;
	initStringInfo(&statement);
	while (request_split(&preamble, &statement))
	{
		if (strncmp(statement.data, command, strlen(command)) == 0)
			strlcpy(wire->savepoint, statement.data + strlen(command), NAMEDATALEN);
	}
	pfree(statement.data);
	told = PQparameterStatus(session->conn, SESSION_SAVEPOINT);
	strlcpy(wire->savepoint_before, told ? told : "", sizeof(wire->savepoint_before));
}

bool
request_awaits_savepoint(const Session *session)
{
	const SessionWire *wire = session->wire;
	const size_t length = strlen(wire->savepoint);
	const char *told;

	if (length == 0 || session->state != SESSION_BUSY || wire->pending != NULL)
		return false;
	told = PQparameterStatus(session->conn, SESSION_SAVEPOINT);
	return told == NULL || strcmp(told, wire->savepoint_before) == 0 ||
		   strncmp(told, wire->savepoint, length) != 0 || told[length] != ' ';
}

bool
session_settings_changed(Session *session)
{
	const char *told = PQparameterStatus(session->conn, SESSION_SETTINGS);
	uint32 count = told != NULL ? (uint32) strtoul(told, NULL, 10) : 0;
	bool changed = count != session->settings_told;

	session->settings_told = count;
	return changed;
}

/* Is it like citus.grep_remote_commands, if that says anything? */
static bool
is_looked_for(const char *sql)
{
	if (remote_grep_commands == NULL || remote_grep_commands[0] == '\0')
		return true;
	return DatumGetBool(
		DirectFunctionCall2Coll(textlike, C_COLLATION_OID, CStringGetTextDatum(sql),
								CStringGetTextDatum(remote_grep_commands)));
}

static void
log_command(Session *session, const char *sql)
{
	if (remote_log_commands && is_looked_for(sql))
		ereport(NOTICE, (errmsg_internal("issuing %s", sql),
						 errdetail("on server %s@%s:%d", PQuser(session->conn),
								   session->address.host, session->address.port)));
}

static void
log_request(Session *session, const Request *request)
{
	StringInfoData statement;
	const char *cursor = request->preamble;

	if (!remote_log_commands)
		return;
	initStringInfo(&statement);
	while (request_split(&cursor, &statement))
		log_command(session, statement.data);
	pfree(statement.data);
	log_command(session, request->sql);
}

static bool
launch_simple(Session *session, const Request *request)
{
	SessionWire *wire = session->wire;
	StringInfoData text;
	bool ok;

	if (request->preamble[0] == '\0')
		return PQsendQuery(session->conn, request->sql) == 1;

	wire->swallow = preamble_count(request->preamble);
	initStringInfo(&text);
	appendStringInfoString(&text, request->preamble);
	appendStringInfoString(&text, request->sql);
	ok = PQsendQuery(session->conn, text.data) == 1;
	pfree(text.data);
	return ok;
}

static uint32 statements_epoch = 0;

void
session_statements_changed(void)
{
	statements_epoch++;
}

uint32
session_statements_epoch(void)
{
	return statements_epoch;
}

/* Entry of the index of prepared statements. */
typedef struct PreparedEntry
{
	uint64 hash;
	Prepared *prepared;
} PreparedEntry;

static uint64
statement_hash(const char *sql)
{
	return hash_bytes_extended((const unsigned char *) sql, strlen(sql), 0);
}

/* The one with the same hash, whose text may still be another. */
static Prepared *
prepared_find(SessionWire *wire, uint64 hash)
{
	PreparedEntry *entry;

	if (wire->prepared_index == NULL)
		return NULL;
	entry = hash_search(wire->prepared_index, &hash, HASH_FIND, NULL);
	return entry ? entry->prepared : NULL;
}

static Prepared *
prepared_add(SessionWire *wire, const char *sql, uint64 hash)
{
	Prepared *prepared = MemoryContextAlloc(wire->context, sizeof(Prepared));
	PreparedEntry *entry;

	if (wire->prepared_index == NULL)
	{
		HASHCTL control = {.keysize = sizeof(uint64),
						   .entrysize = sizeof(PreparedEntry),
						   .hcxt = wire->context};

		wire->prepared_index =
			hash_create("pando prepared statements", MAX_PREPARED, &control,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	prepared->hash = hash;
	prepared->sql = MemoryContextStrdup(wire->context, sql);
	snprintf(prepared->name, NAMEDATALEN, SESSION_STATEMENT_PREFIX "%u",
			 ++wire->prepared_serial);
	entry = hash_search(wire->prepared_index, &hash, HASH_ENTER, NULL);
	entry->prepared = prepared;
	dlist_push_head(&wire->prepared, &prepared->link);
	wire->nprepared++;
	return prepared;
}

/* Drops our knowledge of it; the node's own copy dies with the session or by DEALLOCATE.
 */
void
request_forget_prepared(Session *session, Prepared *prepared)
{
	hash_search(session->wire->prepared_index, &prepared->hash, HASH_REMOVE, NULL);
	dlist_delete(&prepared->link);
	session->wire->nprepared--;
	pfree(prepared->sql);
	pfree(prepared);
}

/* A step of the pipeline that comes before the statement itself. */
static bool
pipeline_step(Session *session, const char *sql)
{
	session->wire->swallow++;
	return PQsendQueryParams(session->conn, sql, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

static bool
pipeline_preamble(Session *session, const char *preamble)
{
	StringInfoData statement;
	bool ok = true;

	if (preamble[0] == '\0')
		return true;
	initStringInfo(&statement);
	while (ok && request_split(&preamble, &statement))
		ok = pipeline_step(session, statement.data);
	pfree(statement.data);
	return ok;
}

/* Makes room for one more prepared statement. */
static bool
pipeline_evict(Session *session)
{
	SessionWire *wire = session->wire;
	Prepared *oldest;
	char sql[NAMEDATALEN + 16];

	if (wire->nprepared < MAX_PREPARED)
		return true;
	oldest = dlist_tail_element(Prepared, link, &wire->prepared);
	snprintf(sql, sizeof(sql), "DEALLOCATE %s", oldest->name);
	request_forget_prepared(session, oldest);
	return pipeline_step(session, sql);
}

/* A statement whose result type changed could not be executed any more. */
static bool
pipeline_forget_all(Session *session)
{
	SessionWire *wire = session->wire;

	while (!dlist_is_empty(&wire->prepared))
		request_forget_prepared(session,
								dlist_head_element(Prepared, link, &wire->prepared));
	return pipeline_step(session, "DEALLOCATE ALL");
}

static bool
pipeline_prepare(Session *session, const Request *request, const Prepared *prepared)
{
	char sql[NAMEDATALEN + 40];

	session->wire->swallow++;
	if (PQsendPrepare(session->conn, prepared->name, request->sql, request->nparams,
					  NULL) != 1)
		return false;
	snprintf(sql, sizeof(sql), "SELECT pando.plan_with_values('%s')", prepared->name);
	return request->reuse == REUSE_PLAN || pipeline_step(session, sql);
}

static bool
send_statement(Session *session, const Request *request, const Prepared *prepared)
{
	int *formats = NULL;

	if (request->lengths != NULL)
	{
		formats = palloc(sizeof(int) * request->nparams);
		for (int i = 0; i < request->nparams; i++)
			formats[i] = request->lengths[i] > 0;
	}
	if (prepared != NULL)
		return PQsendQueryPrepared(session->conn, prepared->name, request->nparams,
								   request->values, request->lengths, formats,
								   request->binary_results) == 1;
	return PQsendQueryParams(session->conn, request->sql, request->nparams, NULL,
							 request->values, request->lengths, formats,
							 request->binary_results) == 1;
}

static bool
launch_params(Session *session, const Request *request)
{
	SessionWire *wire = session->wire;
	bool outdated = wire->prepared_epoch != statements_epoch && wire->nprepared > 0;
	bool reuse = request->reuse != REUSE_NOTHING && !session->pooled;
	uint64 hash = reuse ? statement_hash(request->sql) : 0;
	Prepared *prepared = reuse && !outdated ? prepared_find(wire, hash) : NULL;
	bool prepare = reuse && prepared == NULL;

	/* Two texts of one hash: the second one goes without a name. */
	if (prepared != NULL && strcmp(prepared->sql, request->sql) != 0)
		prepared = NULL;
	if (prepared != NULL)
		dlist_move_head(&wire->prepared, &prepared->link);
	if (!prepare && request->preamble[0] == '\0')
		return send_statement(session, request, prepared);

	if (PQenterPipelineMode(session->conn) != 1)
		return false;
	wire->pipelined = true;
	if (!pipeline_preamble(session, request->preamble))
		return false;
	if (prepare)
	{
		if (outdated && !pipeline_forget_all(session))
			return false;
		wire->prepared_epoch = statements_epoch;
		if (!pipeline_evict(session))
			return false;
		prepared = prepared_add(wire, request->sql, hash);
		wire->preparing = prepared;
		if (!pipeline_prepare(session, request, prepared))
			return false;
	}
	return send_statement(session, request, prepared) &&
		   PQpipelineSync(session->conn) == 1;
}

/* Is what is to be sent so long that libpq's buffer should not be moved often? */
static bool
is_bulk(SessionWire *wire, const Request *request)
{
	size_t length = strlen(request->sql);

	for (int i = 0; i < request->nparams; i++)
	{
		if (request->lengths != NULL && request->lengths[i] > 0)
			length += request->lengths[i];
		else if (request->values[i] != NULL)
			length += strlen(request->values[i]);
	}
	wire->longest = Max(wire->longest, length);
	return length > BULK_BYTES;
}

/* Sends wire->queued over a connection that is ready. A failure makes the session dead.
 */
void
request_launch(Session *session)
{
	SessionWire *wire = session->wire;
	const Request *request = &wire->queued;
	bool ok;

	Assert(session->state == SESSION_IDLE);
	log_request(session, request);
	wire->swallow = 0;
	wire->pipelined = false;
	wire->preparing = NULL;
	wire->reported = false;
	wire->left = false;
	expect_savepoint(session, request->preamble);
	session->state = SESSION_BUSY;

	ok = request->kind == REQUEST_SIMPLE ? launch_simple(session, request)
										 : launch_params(session, request);
	wire->bulk = is_bulk(wire, request);
	wire->queued.kind = REQUEST_NONE;
	if (!ok)
	{
		wire_lost(session, PQerrorMessage(session->conn));
		return;
	}
	if (wire->stream && (wire->swallow == 0 || !wire->pipelined))
		(void) PQsetSingleRowMode(session->conn);
	wire_flush(session);
}

/* Takes a copy of what a request needs while it can't be sent yet. */
static void
request_copy(Request *request)
{
	request->preamble = pstrdup(request->preamble);
	request->sql = pstrdup(request->sql);
	if (request->nparams > 0)
	{
		const char **values = palloc(sizeof(char *) * request->nparams);

		for (int i = 0; i < request->nparams; i++)
		{
			if (request->lengths != NULL && request->lengths[i] > 0)
				values[i] = memcpy(palloc(request->lengths[i]), request->values[i],
								   request->lengths[i]);
			else
				values[i] = request->values[i] ? pstrdup(request->values[i]) : NULL;
		}
		if (request->lengths != NULL)
			request->lengths = memcpy(palloc(sizeof(int) * request->nparams),
									  request->lengths, sizeof(int) * request->nparams);
		request->values = values;
	}
}

static void
request_start(Session *session, Request *request)
{
	SessionWire *wire = session->wire;
	MemoryContext old;

	if (session->holder != NULL)
		session->holder->drain(session->holder);
	if (session->state == SESSION_DEAD)
		session_raise_lost(session, ERROR);
	if ((session->state != SESSION_IDLE && session->state != SESSION_CONNECTING) ||
		wire->queued.kind != REQUEST_NONE)
		elog(ERROR, "session to %s:%d is in use", session->address.host,
			 session->address.port);

	wire->stream = false;
	wire->reported = false;
	request->preamble = session->preamble.data;
	if (session->state == SESSION_CONNECTING)
	{
		MemoryContextReset(wire->request_context);
		old = MemoryContextSwitchTo(wire->request_context);
		request_copy(request);
		MemoryContextSwitchTo(old);
		wire->queued = *request;
	}
	else
	{
		wire->queued = *request;
		request_launch(session);
	}
	resetStringInfo(&session->preamble);
}

void
session_send_simple(Session *session, const char *sql)
{
	Request request = {.kind = REQUEST_SIMPLE, .sql = sql};

	request_start(session, &request);
}

void
session_send_params(Session *session, const char *sql, int nparams,
					const char *const *values, const int *lengths, bool binary_results,
					SessionReuse reuse)
{
	Request request = {.kind = REQUEST_PARAMS,
					   .sql = sql,
					   .nparams = nparams,
					   .values = values,
					   .lengths = lengths,
					   .binary_results = binary_results,
					   .reuse = reuse};

	request_start(session, &request);
}

void
session_send_bytes(Session *session, const char *sql, const char *text, const char *bytes,
				   int length)
{
	const char *values[2] = {text, bytes};
	const int lengths[2] = {0, length};
	Request request = {.kind = REQUEST_PARAMS,
					   .sql = sql,
					   .nparams = 2,
					   .values = values,
					   .lengths = lengths,
					   .reuse = REUSE_PLAN};

	Assert(length > 0);
	request_start(session, &request);
}

void
session_hold(Session *session, SessionHolder *holder)
{
	Assert(session->holder == NULL);
	session->holder = holder;
	holder->session = session;
}

void
session_unhold(SessionHolder *holder)
{
	if (holder->session != NULL)
		holder->session->holder = NULL;
	holder->session = NULL;
}

void
session_stream_rows(Session *session)
{
	SessionWire *wire = session->wire;

	wire->stream = true;
	if (session->state == SESSION_BUSY && (wire->swallow == 0 || !wire->pipelined))
		(void) PQsetSingleRowMode(session->conn);
}

PG_FUNCTION_INFO_V1(plan_with_values);

/*
 * pando.plan_with_values(name): on the node, a statement that this session has prepared
 * gets no plan for all values, unless plan_cache_mode forces it. Raises 26000 where there
 * is no such statement.
 */
Datum
plan_with_values(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	FetchPreparedStatement(name, true)->plansource->cursor_options |=
		CURSOR_OPT_CUSTOM_PLAN;
	PG_RETURN_VOID();
}
