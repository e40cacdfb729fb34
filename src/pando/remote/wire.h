/*
 * wire.h: the inside of a session, shared by the files of this module only.
 *
 * A request is what one session_send_*() starts: the preamble's statements, maybe the
 * preparation of a named statement, and the statement itself. `swallow` counts what comes
 * back before the statement's own results: results in the simple protocol, commands in
 * pipeline mode. A result that arrived and was not yet taken is in `pending`; libpq's
 * parser is never run further than that, so a slow reader holds the node back, not
 * memory.
 *
 * While the connection is being made a request is kept in `queued` and launched as soon
 * as authentication is through.
 */
#ifndef PANDO_REMOTE_WIRE_H
#define PANDO_REMOTE_WIRE_H

#include "pando/compat/compat.h"
#include "datatype/timestamp.h"
#include "lib/ilist.h"
#include "pando/remote/session.h"
#include "storage/latch.h"
#include "utils/hsearch.h"

#define SQLSTATE_LENGTH 5

typedef enum RequestKind
{
	REQUEST_NONE,
	REQUEST_SIMPLE,
	REQUEST_PARAMS
} RequestKind;

/* A statement to send, as the caller gave it; everything is a copy in the request
 * context.
 */
typedef struct Request
{
	RequestKind kind;
	const char *preamble; /* may be empty */
	const char *sql;
	int nparams;
	const char *const *values;
	const int *lengths; /* of values that are bytes in binary format, 0 elsewhere; or NULL
						 */
	bool binary_results;
	SessionReuse reuse;
} Request;

/* One named prepared statement on the node. */
typedef struct Prepared
{
	dlist_node link; /* most recently used first */
	uint64 hash;	 /* of sql, key of the index */
	char *sql;
	char name[NAMEDATALEN];
} Prepared;

typedef struct SharedPoolEntry SharedPoolEntry;

typedef struct SessionWire SessionWire;
struct SessionWire
{
	MemoryContext context;		   /* the session's own; deleted with it */
	MemoryContext request_context; /* reset when a request starts */

	/* Connection. */
	char *name; /* application_name given */
	TimestampTz opened;
	TimestampTz turn_end; /* from then on others may have the place */
	bool needed;		  /* not only useful */
	TimestampTz deadline; /* of SESSION_CONNECTING */
	TimestampTz retry;	  /* end of a pause */
	const char *crowded;  /* the node's words when it had no connection left; or NULL */
	PostgresPollingStatusType polling;
	SharedPoolEntry *pool; /* where it is counted; NULL: not counted */
	bool fd_acquired;
	bool has_pooler;	 /* the node, when the connection was made */
	bool over_socket;	 /* Unix-domain */
	bool refused_socket; /* the node did not let us in that way */
	size_t longest;		 /* message: libpq's buffers have grown for it */
	char *lost;			 /* why the session is dead */

	/* The request. */
	Request queued;
	char savepoint[NAMEDATALEN];					 /* the last of its preamble; or "" */
	char savepoint_before[SESSION_SAVEPOINT_LENGTH]; /* SESSION_SAVEPOINT when it went */
	bool pipelined;
	int swallow;
	bool stream;
	bool unsent;   /* libpq has bytes that the socket did not take */
	bool bulk;	   /* they are many */
	bool left;	   /* session_leave() */
	bool reported; /* the end, loss or COPY readiness was handed over */
	PGresult *pending;
	List *notices;		 /* Notice *, to be passed on outside of libpq */
	Prepared *preparing; /* entry that this request creates */

	/* COPY. */
	char *copy_row; /* libpq's; COPY OUT */
	int copy_row_length;
	char *copy_taken; /* the row that the caller reads */
	StringInfoData copy_in;
	int copy_in_sent;
	int copy_in_next; /* when so much is kept, the socket is looked at again */

	dlist_head prepared;
	HTAB *prepared_index; /* PreparedEntry by hash; NULL until first needed */
	int nprepared;
	uint32 prepared_serial;
	uint32 prepared_epoch; /* session_statements_changed() calls that they have seen */

	/* For waits on this session alone; NULL until first needed. */
	WaitEventSet *wait_set;

	/* In the set for several (wait.c). */
	bool kept;
	ino_t kept_socket; /* what stands behind the descriptor; while connecting */
	uint32 kept_wait;  /* number of the last wait for it */
};

/* settings */
extern char *remote_node_conninfo;
extern int remote_connection_timeout;
extern int remote_max_cached_sessions;
extern int remote_max_cached_lifetime;
extern int remote_max_shared_pool_size;
extern int remote_max_nodes_tracked;
extern bool remote_log_commands;
extern char *remote_grep_commands;
extern int remote_min_messages;
extern int remote_copy_flush_threshold;

extern bool remote_use_local_sockets;

/* local_socket.c */
extern char *local_socket_directory(const char *host, int port);

/* connect.c */
extern void connect_start(Session *session);
extern void connect_advance(Session *session);
extern long connect_time_left(const Session *session, TimestampTz now);
extern void connect_check_time(Session *session);

/* session.c */
extern bool session_files_left(void);

/* request.c */
/* Has what runs still to make a savepoint, as far as one can know? */
extern bool request_awaits_savepoint(const Session *session);
extern void request_launch(Session *session);
extern void request_forget_prepared(Session *session, Prepared *prepared);

/* pump.c */
extern void wire_pump(Session *session);
extern void wire_read(Session *session);
extern void wire_flush(Session *session);
extern void wire_lost(Session *session, const char *why);
extern bool wire_socket_readable(Session *session);

/* wait.c */
extern Session *wire_wait(Session **sessions, int nsessions, long timeout_ms);
extern void wire_wait_writable(Session *session);
extern void wire_forget_socket(Session *session);
extern void wire_forget_own_set(Session *session);

/* result.c */
extern void result_track(PGresult *result);

/* error.c */
extern void notice_receive(void *session, const PGresult *result);
extern void notice_emit(Session *session);
extern char *error_trim(const char *message);
extern char *error_split(const char *message, char *sqlstate);

/* shared_pool.c */
extern void shared_pool_init(void);
extern SharedPoolEntry *shared_pool_enter(const char *host, int port, bool holds_others);
extern bool shared_pool_try(const char *host, int port, bool needed,
							SharedPoolEntry **taken);
extern void shared_pool_leave(SharedPoolEntry *entry);
extern void shared_pool_crowded(SharedPoolEntry *entry);
extern void shared_pool_end_turn(void);
extern bool shared_pool_turn_wanted(void);
extern bool shared_pool_place_wanted(SharedPoolEntry *entry);
extern void shared_pool_keep(void);
extern bool shared_pool_asked(void);
extern void shared_pool_refuse_socket(SharedPoolEntry *entry);
extern bool shared_pool_socket_refused(SharedPoolEntry *entry);

#endif
