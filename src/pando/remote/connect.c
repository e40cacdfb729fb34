/*
 * connect.c: making the connection of a session, without waiting for it.
 *
 * Options: citus.node_conninfo, then the role's entry in pg_dist_authinfo for the node
 * (read with the rights of the server, since roles may not see passwords), then what must
 * be as it is: address (or its pooler's, pg_dist_poolinfo), role, database, encoding,
 * application_name, and limits that make a silent network noticed. A connection that is
 * not made within citus.node_connection_timeout is lost. A node of this host is reached
 * through its Unix-domain socket (local_socket.c), or over TCP where that fails.
 *
 * A node that has no connection left for us is *crowded*: a session that is needed pauses
 * (it has no libpq connection then) and tries again until its deadline. Meanwhile who
 * keeps idle sessions there is asked for them (shared_pool.c).
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "commands/dbcommands.h"
#include "common/username.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pando/base/counter.h"
#include "pando/remote/wire.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#define INFO_NODE 1
#define INFO_ANY_NODE 0
#define AUTHINFO_ROLE 2
#define AUTHINFO_TEXT 3
#define POOLINFO_TEXT 2
#define MAX_OPTIONS 64
#define RETRY_MS 50

/* A session's turn where sessions are scarce, in times of what it took to connect. */
#define TURN_FACTOR 20
#define TURN_MIN_MS 200
#define TURN_MAX_MS 5000

static void connect_failed(Session *session);

typedef struct Options
{
	const char *keywords[MAX_OPTIONS + 1];
	const char *values[MAX_OPTIONS + 1];
	int count;
} Options;

static void
add_option(Options *options, const char *keyword, const char *value)
{
	if (options->count >= MAX_OPTIONS)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("too many connection options for a node")));
	options->keywords[options->count] = keyword;
	options->values[options->count] = value;
	options->count++;
}

/* The options that a conninfo string sets; copies in the current context. */
static void
add_conninfo(Options *options, const char *text)
{
	char *message = NULL;
	PQconninfoOption *parsed;

	if (text == NULL || text[0] == '\0')
		return;
	parsed = PQconninfoParse(text, &message);
	if (parsed == NULL)
	{
		if (message)
			PQfreemem(message);
		/* The text may hold a password: don't repeat it. */
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
						errmsg("connection options for a node are not valid")));
	}
	for (PQconninfoOption *option = parsed; option->keyword != NULL; option++)
		if (option->val != NULL)
			add_option(options, pstrdup(option->keyword), pstrdup(option->val));
	PQconninfoFree(parsed);
}

/*
 * The text that a table of pg_catalog has for the node, and for the role where it has a
 * column for that (0: it has none): NULL when there is none. A row of node 0 is for all
 * nodes without a row of their own.
 */
static char *
text_of_node(const char *table, int32 node_id, int role_column, const char *role,
			 int text_column)
{
	Oid relid = get_relname_relid(table, PG_CATALOG_NAMESPACE);
	Relation relation;
	TupleDesc desc;
	SysScanDesc scan;
	HeapTuple tuple;
	char *found = NULL;
	bool exact = false;

	if (!OidIsValid(relid))
		return NULL;
	relation = table_open(relid, AccessShareLock);
	desc = RelationGetDescr(relation);
	scan = systable_beginscan(relation, InvalidOid, false, NULL, 0, NULL);
	while (!exact && (tuple = systable_getnext(scan)) != NULL)
	{
		bool isnull;
		int32 node = DatumGetInt32(heap_getattr(tuple, INFO_NODE, desc, &isnull));

		if (node != node_id && node != INFO_ANY_NODE)
			continue;
		if (role_column != 0 &&
			namestrcmp(DatumGetName(heap_getattr(tuple, role_column, desc, &isnull)),
					   role) != 0)
			continue;
		exact = node == node_id;
		found = TextDatumGetCString(heap_getattr(tuple, text_column, desc, &isnull));
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return found;
}

/* Is encryption asked for, or a proof of the node's identity? A socket has neither. */
static bool
demands_tls(const Options *options)
{
	static const char *const harmless[] = {"disable", "allow", "prefer"};

	for (int i = 0; i < options->count; i++)
	{
		bool demands = strcmp(options->keywords[i], "sslmode") == 0;

		for (int j = 0; demands && j < lengthof(harmless); j++)
			demands = strcmp(options->values[i], harmless[j]) != 0;
		if (demands || (strcmp(options->keywords[i], "channel_binding") == 0 &&
						strcmp(options->values[i], "require") == 0))
			return true;
	}
	return false;
}

/* Where to connect to: the node's Unix-domain socket if it has one for us. */
static void
add_address(Options *options, Session *session, const char *port)
{
	SessionWire *wire = session->wire;
	const char *directory = NULL;
	const char *user = get_user_name(&(char *){NULL});

	if (!session->pooled && !wire->refused_socket && user != NULL &&
		!demands_tls(options) && !shared_pool_socket_refused(wire->pool))
		directory = local_socket_directory(session->address.host, session->address.port);
	wire->over_socket = directory != NULL;
	if (directory != NULL)
	{
		add_option(options, "host", directory);
		add_option(options, "requirepeer", user);
	}
	else
		add_option(options, "host", session->address.host);
	add_option(options, "port", port);
}

/* Starts to connect; the session is SESSION_CONNECTING then, or dead. */
void
connect_start(Session *session)
{
	SessionWire *wire = session->wire;
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "connect", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	Options options = {.count = 0};
	char port[16];
	char timeout[32];
	char *role = GetUserNameFromId(session->userid, false);
	char *poolinfo;

	snprintf(port, sizeof(port), "%d", session->address.port);
	snprintf(timeout, sizeof(timeout), "%d", Max(remote_connection_timeout, 1000));

	/* Silence of the network, rather than of a busy node, is noticed in a minute. */
	add_option(&options, "keepalives", "1");
	add_option(&options, "keepalives_idle", "30");
	add_option(&options, "keepalives_interval", "10");
	add_option(&options, "keepalives_count", "3");
	add_option(&options, "tcp_user_timeout", timeout);
	add_conninfo(&options, remote_node_conninfo);
	add_conninfo(&options, text_of_node("pg_dist_authinfo", session->address.node_id,
										AUTHINFO_ROLE, role, AUTHINFO_TEXT));
	/* The last one wins. */
	poolinfo = text_of_node("pg_dist_poolinfo", session->address.node_id, 0, NULL,
							POOLINFO_TEXT);
	wire->has_pooler = poolinfo != NULL;
	session->pooled = wire->has_pooler && session->address.pooler;
	add_address(&options, session, port);
	if (session->pooled)
		add_conninfo(&options, poolinfo);
	add_option(&options, "user", role);
	add_option(&options, "dbname", get_database_name(MyDatabaseId));
	add_option(&options, "client_encoding", pg_encoding_to_char(GetDatabaseEncoding()));
	add_option(&options, "application_name", wire->name);
	options.keywords[options.count] = NULL;
	options.values[options.count] = NULL;

	session->conn = PQconnectStartParams(options.keywords, options.values, false);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);

	wire->opened = GetCurrentTimestamp();
	if (wire->deadline == 0)
		wire->deadline =
			TimestampTzPlusMilliseconds(wire->opened, remote_connection_timeout);
	wire->polling = PGRES_POLLING_WRITING;
	session->state = SESSION_CONNECTING;
	if (session->conn == NULL)
		wire_lost(session, "out of memory");
	else if (PQstatus(session->conn) == CONNECTION_BAD)
		connect_failed(session);
	else
	{
		PQsetNoticeReceiver(session->conn, notice_receive, session);
		/* Else an error would come without its SQLSTATE. */
		(void) PQsetErrorVerbosity(session->conn, PQERRORS_VERBOSE);
	}
}

/*
 * The attempt failed. Over the node's socket it may have been refused what TCP grants;
 * a crowded node lets us in later.
 */
static void
connect_failed(Session *session)
{
	SessionWire *wire = session->wire;
	char sqlstate[SQLSTATE_LENGTH + 1];
	char *why = error_split(PQerrorMessage(session->conn), sqlstate);
	bool crowded = strcmp(sqlstate, "53300") == 0;

	if ((crowded && !wire->needed) || (!crowded && !wire->over_socket))
	{
		wire_lost(session, why);
		return;
	}
	wire_forget_socket(session);
	PQfinish(session->conn);
	session->conn = NULL;
	if (crowded)
	{
		if (wire->crowded == NULL)
			wire->crowded = MemoryContextStrdup(wire->context, why);
		wire->retry = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), RETRY_MS);
		shared_pool_leave(wire->pool);
		shared_pool_crowded(wire->pool);
		wire->pool = NULL;
		return;
	}
	wire->refused_socket = true;
	connect_start(session);
}

/* It paused because the node was crowded. */
static void
connect_again(Session *session)
{
	SessionWire *wire = session->wire;
	const NodeAddress *address = &session->address;

	if (shared_pool_try(address->host, address->port, true, &wire->pool))
		connect_start(session);
	else
		wire->retry = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), RETRY_MS);
}

/* So long that opening sessions takes a small part of the time, however slow it is. */
static void
begin_turn(SessionWire *wire)
{
	TimestampTz now = GetCurrentTimestamp();
	long turn = TURN_FACTOR * TimestampDifferenceMilliseconds(wire->opened, now);

	turn = Min(Max(turn, TURN_MIN_MS), TURN_MAX_MS);
	wire->turn_end = TimestampTzPlusMilliseconds(now, turn);
}

/* The socket is ready: one step more. Sends the queued request when connected. */
void
connect_advance(Session *session)
{
	SessionWire *wire = session->wire;

	wire->polling = PQconnectPoll(session->conn);
	if (wire->polling == PGRES_POLLING_FAILED)
	{
		connect_failed(session);
		return;
	}
	if (wire->polling != PGRES_POLLING_OK)
		return;
	if (PQsetnonblocking(session->conn, 1) != 0)
	{
		wire_lost(session, PQerrorMessage(session->conn));
		return;
	}
	(void) PQsetErrorVerbosity(session->conn, PQERRORS_DEFAULT);
	session->state = SESSION_IDLE;
	begin_turn(wire);
	if (wire->refused_socket)
		shared_pool_refuse_socket(wire->pool);
	counter_add(COUNTER_CONNECTION_SUCCEEDED);
	if (wire->queued.kind != REQUEST_NONE)
		request_launch(session);
	else
		wire->reported = true;
}

/* Milliseconds until connect_check_time() has something to do. */
long
connect_time_left(const Session *session, TimestampTz now)
{
	const SessionWire *wire = session->wire;

	return TimestampDifferenceMilliseconds(now, session->conn == NULL ? wire->retry
																	  : wire->deadline);
}

/* Ends an attempt that takes too long; ends a pause. */
void
connect_check_time(Session *session)
{
	SessionWire *wire = session->wire;
	TimestampTz now;

	if (session->state != SESSION_CONNECTING)
		return;
	now = GetCurrentTimestamp();
	if (now >= wire->deadline)
		wire_lost(session, wire->crowded != NULL ? wire->crowded : "timeout expired");
	else if (session->conn == NULL && now >= wire->retry)
		connect_again(session);
}
