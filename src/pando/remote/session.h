/*
 * session.h: one connection from this backend to a node, and what runs over it.
 *
 * A session is opened without blocking and kept in the backend's pool between
 * transactions (citus.max_cached_conns_per_worker per node,
 * citus.max_cached_connection_lifetime). At any moment it runs one *request*: an optional
 * preamble (BEGIN, settings, savepoints, put there by the transaction module) and one
 * statement, sent together. The preamble's results are swallowed here; its errors come
 * out as the statement's.
 *
 *   session = xact_session(node, XACT_WRITE);            (transaction/xact.h)
 *   session_send_simple(session, sql);                   (queued while still connecting)
 *   while ((s = session_wait_any(sessions, -1)) != NULL) (progress on all of them at
 * once) while ((r = session_result(s)) != NULL) ...      (SESSION_IDLE: the request is
 * over)
 *
 * Every wait goes through session_wait_any(): sockets, latch, interrupts and postmaster
 * death. A lost or unreachable node is an error that names host and port.
 */
#ifndef PANDO_REMOTE_SESSION_H
#define PANDO_REMOTE_SESSION_H

#include "pando/compat/compat.h"
#include "lib/ilist.h"
#include "lib/stringinfo.h"
#include "libpq-fe.h"
#include "nodes/pg_list.h"

/* Where a session goes. The group identifies the node over failovers. */
typedef struct NodeAddress
{
	int32 node_id;
	int32 group;
	const char *host;
	int port;
	bool pooler; /* by way of the node's pooler if it has one (pg_dist_poolinfo) */
} NodeAddress;

typedef enum SessionState
{
	SESSION_CONNECTING, /* authentication not finished; a request may be queued already */
	SESSION_IDLE,		/* nothing in request */
	SESSION_BUSY,		/* a request is under way */
	SESSION_COPY_IN,	/* the node waits for COPY data */
	SESSION_COPY_OUT,	/* the node sends COPY data */
	SESSION_DEAD		/* lost, or could not be made; see session_raise_lost() */
} SessionState;

/*
 * Who has a request under way and can take in all the rest of it when another statement
 * needs the session: embedded in the holder's own data. `session` is NULL when it holds
 * none (any more).
 */
typedef struct SessionHolder
{
	struct Session *session;
	void (*drain)(
		struct SessionHolder *holder); /* until the request is over; may raise */
} SessionHolder;

typedef struct Session
{
	dlist_node link;	 /* in the backend's pool */
	NodeAddress address; /* host is the session's own copy */
	Oid userid;			 /* role that was authenticated */
	PGconn *conn;
	SessionState state;
	bool claimed; /* in use by the current transaction */
	bool pooled;  /* a pooler is in between: the process at the other end may be another
				   * one in each transaction, and nothing may be left in it */

	/* Owned by the transaction module. */
	StringInfoData preamble; /* SQL to go ahead of the next statement; empty: none */
	bool in_xact;			 /* BEGIN was sent, or is in the preamble */
	bool wrote;				 /* changed something in this transaction */
	bool failed;			 /* its remote transaction is aborted */
	int savepoint_depth;	 /* subtransaction nesting level reached on the node */
	char *gid;				 /* after PREPARE TRANSACTION */
	char *settings;			 /* client settings the node has, as SQL text; NULL: not even
							  * the base they are set upon */
	char *challenge;		 /* of the node's backend, for signatures; NULL: not asked */
	uint64 signed_count;	 /* statements signed for it */
	bool served;			 /* it has run a call, which may have changed its settings */
	uint32 settings_told;	 /* SESSION_SETTINGS, as seen last */

	/* Owned by the remote module. */
	SessionHolder *holder; /* NULL: nobody would mind; see session_hold() */
	struct SessionWire *wire;
} Session;

/*
 * Takes an unclaimed session to the address, authenticated as userid, from the pool, or
 * starts to open one (returns at once, state SESSION_CONNECTING). It is claimed then.
 */
extern Session *session_claim(const NodeAddress *address, Oid userid);

/*
 * The same for a session that is not needed, only useful: NULL when there is no place for
 * one more.
 */
extern Session *session_claim_extra(const NodeAddress *address, Oid userid);

/*
 * Raises an error unless that many sessions more can be open at once: whoever goes to
 * many nodes asks before the first of them has to do something.
 */
extern void session_require_room(int count);

/*
 * A new session, for what may leave traces in it or must not meet those of others: it is
 * to be closed, not given back. Idle ones stay unless they are in the way.
 */
extern Session *session_claim_apart(const NodeAddress *address, Oid userid);

/*
 * Nobody waits for the end of the request just sent, nor wants to know what comes of it.
 * It is taken in when the session is claimed the next time.
 */
extern void session_leave(Session *session);

/* Gives it back: kept for later if idle or left, healthy and within the limits; else
 * closed. */
extern void session_release(Session *session);

/* Closes idle sessions whose places others wait for; at the end of each transaction. */
extern void session_share_idle(void);

/* Closes at once, whatever is under way. */
extern void session_close(Session *session);

/* Drops the connection, whatever is under way; the session is dead then. */
extern void session_abandon(Session *session, const char *why);

/* All sessions of this backend that are claimed. */
extern List *session_claimed_list(void);

/*
 * Starts a request: preamble (if any, then emptied) and sql, which may hold several
 * statements, in the simple protocol. Results come in text format.
 */
extern void session_send_simple(Session *session, const char *sql);

/* Names of statements that a session has prepared on its node begin with it. */
#define SESSION_STATEMENT_PREFIX "pando_"

/* Is a prepared statement of that name (or NULL: none) another node's? */
static inline bool
session_names_statement(const char *name)
{
	return name != NULL &&
		   strncmp(name, SESSION_STATEMENT_PREFIX, strlen(SESSION_STATEMENT_PREFIX)) == 0;
}

/* What a node keeps of a parameterised statement: nothing, or, from its first use on, a
 * named prepared statement (a bounded LRU per session). */
typedef enum SessionReuse
{
	REUSE_NOTHING,
	REUSE_STATEMENT, /* planned anew each time, with its values */
	REUSE_PLAN		 /* its plan as well, if the node's plan cache thinks so */
} SessionReuse;

/*
 * Starts a request: preamble (if any) and one parameterised statement, pipelined. A NULL
 * pointer is an SQL NULL; a value with a length > 0 is bytes in its type's binary form,
 * others are text (lengths may be NULL). The node infers the types. Results come in
 * binary if asked. Bytes are copied unless the session is connected.
 */
extern void session_send_params(Session *session, const char *sql, int nparams,
								const char *const *values, const int *lengths,
								bool binary_results, SessionReuse reuse);

/*
 * The same for a statement that stays prepared, with $1 as text and $2 as a bytea's
 * bytes, which are not copied when the session is connected.
 */
extern void session_send_bytes(Session *session, const char *sql, const char *text,
							   const char *bytes, int length);

/*
 * Puts the request just sent in somebody's care: the next session_send_*() calls
 * holder->drain() first if the request is still under way. The holder lets go when its
 * request is over, or before its memory goes; cancelling and closing the session do it,
 * too.
 */
extern void session_hold(Session *session, SessionHolder *holder);
extern void session_unhold(SessionHolder *holder);

/*
 * The meaning of statements may have changed (a distributed table did): named statements
 * on nodes are prepared anew at their next use. May be called at any time, also by an
 * invalidation callback.
 */
extern void session_statements_changed(void);

/* How often that was called: what is kept of a statement's text is as old as this. */
extern uint32 session_statements_epoch(void);

/* Asks that the rows of the request just sent come one PGresult at a time. */
extern void session_stream_rows(Session *session);

/*
 * Waits until at least one of the sessions has something to hand over (a result, COPY
 * data, the end of its request, readiness for COPY data, or its loss) and returns it;
 * NULL when all are idle or dead and were reported, or on timeout (ms; -1: none). Fair:
 * rotates over those that are ready. Handles interrupts; flushes what is queued to send.
 */
extern Session *session_wait_any(List *sessions, long timeout_ms);

/*
 * The next result of the request if it has arrived, else NULL without waiting. The caller
 * frees it with session_result_free() (it is also freed with CurrentMemoryContext of
 * the call). An error result is returned as such: see session_raise(). When NULL is
 * returned and the state is SESSION_IDLE, the request is over.
 */
extern PGresult *session_result(Session *session);
extern void session_result_free(PGresult *result);

/*
 * A field of a result; "" when it is NULL or the result has no such row or column: what
 * nodes answer need not be what was asked for. Never raises.
 */
extern char *session_value(const PGresult *result, int row, int column);

/*
 * Waits until the COPY of the request, which may be the last of its statements, has begun
 * (wanted: SESSION_COPY_IN or SESSION_COPY_OUT); false when a COPY OUT has ended by then
 * without a row. Raises errors of the node.
 */
extern bool session_await_copy(Session *session, SessionState wanted);

/*
 * COPY OUT: one row's (or header/trailer's) bytes, valid until the next call. > 0:
 * length; 0: nothing arrived yet; -1: the COPY has ended (go on with session_result).
 */
extern int session_copy_get(Session *session, const char **data);

/*
 * COPY IN: queues bytes; sends when citus.remote_copy_flush_threshold is reached, waiting
 * (on all sessions) only when the socket is full. session_copy_end() ends the data, with
 * an error message to fail the COPY on purpose; its result comes through
 * session_result().
 */
extern void session_copy_put(Session *session, const char *data, int length);
extern void session_copy_end(Session *session, const char *error);

/*
 * Raises the error of one of the sessions that work on the same: of those that have failed
 * the one that says why. A session that fails takes the intermediate results with it that
 * its transaction holds, here and on other nodes, and others may still want to read. It
 * says so before: where something is missing, an error about anything else that has come
 * as well is the reason.
 */
extern void session_raise_reason(Session *session, const PGresult *error,
								 List *sessions) pg_attribute_noreturn();

/* Waits for the request's end, raises its first error, returns its last result (may be
 * NULL). */
extern PGresult *session_finish(Session *session);

/* Send and finish in one: for commands between nodes. */
extern PGresult *session_run(Session *session, const char *sql);

/* The end of a request for what can be done without: NULL when the node fails, can't be
 * reached or is silent for timeout_ms. */
extern PGresult *session_try_finish(Session *session, long timeout_ms);

/*
 * A node tells with this parameter (ParameterStatus) of each SAVEPOINT, as soon as it is
 * made: its name, the process, and how many it has made. A pooler may have another
 * process for the next transaction, so the number alone would not tell one savepoint from
 * another.
 */
#define SESSION_SAVEPOINT "pando.savepoint"
#define SESSION_SAVEPOINT_LENGTH (NAMEDATALEN + 24)

/* With this one it tells, by counting, that its settings are not those that it was given.
 */
#define SESSION_SETTINGS "pando.settings"

/* Has the node told so since it was asked last? */
extern bool session_settings_changed(Session *session);

/*
 * Waits until the nodes have made the savepoints in the preambles of what runs, or that
 * has failed; a session where this takes longer than timeout_ms is dead then. For a
 * transaction's end: a cancel does not cut it short, and nothing is raised.
 */
extern void session_await_savepoints(List *sessions, long timeout_ms);

/* Waits until each of the sessions has something to say, or the time is over. */
extern void session_wait_all(List *sessions, long timeout_ms);

/*
 * Raises the node's error in this backend: SQLSTATE, message, detail, hint and
 * position-free context kept, with "while executing command on host:port" added to the
 * context.
 */
extern void session_raise(Session *session, const PGresult *result, int elevel);

/* Has the node's error this SQLSTATE (ERRCODE_...)? */
extern bool session_error_is(const PGresult *error, int sqlstate);

/* Raises "connection to the remote node host:port failed ..." (or was lost) for
 * SESSION_DEAD. */
extern void session_raise_lost(Session *session, int elevel);

/*
 * Asks the node to stop what the session runs; false if it did not take the request in
 * that time, so that it may arrive any time later.
 */
extern bool session_request_cancel(Session *session, int timeout_ms);

/*
 * Asks the node to cancel what runs; the request's end is still to be waited for. A
 * session that is not yet connected is dead then.
 */
extern void session_cancel_start(Session *session);

/* The same, then waits (5 s) until the request is over; else the session is dead. */
extern void session_cancel(Session *session);

/* Closes unclaimed sessions for which keep() says no. */
extern void session_close_idle(bool (*keep)(const Session *session));

/*
 * Gives the function that makes the application_name of sessions: "citus_internal
 * gpid=...". The result must stay valid until the next call; a session with another name
 * is not reused.
 */
extern void session_register_name(const char *(*name)(void) );

/* citus.worker_min_messages: the least level of nodes' messages that is passed on. */
extern int session_message_level(void);

/*
 * Registers a check that runs at each wait, before interrupts are handled; it may raise.
 */
extern void session_register_interrupt(void (*check)(void));

/* Called before a session is handed out; raises where none may be used. */
extern void session_register_guard(void (*guard)(void));

#endif
