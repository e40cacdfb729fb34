/*
 * xact.h: the distributed transaction of this backend.
 *
 * It follows the local transaction: sessions join when they are first used in it, get
 * the same isolation level, read-only mode, savepoints and client settings, and end with
 * it: nothing remote written, plain end; one node wrote and nothing was written here,
 * COMMIT there; else two-phase commit.
 *
 * One writer per node: xact_session() hands out the same session for a node within a
 * transaction (the *owner*). Others only
 * read, as of the owner's snapshot.
 */
#ifndef PANDO_TRANSACTION_XACT_H
#define PANDO_TRANSACTION_XACT_H

#include "pando/compat/compat.h"
#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "pando/metadata/node.h"
#include "pando/remote/session.h"

typedef enum XactAccess
{
	XACT_READ,		/* joins the transaction, will not write */
	XACT_SNAPSHOT,	/* the same for a query's reads: where the query is its own
					 * transaction, all that it reads on the node is as of one moment */
	XACT_ONLY_READ, /* the same for what has no effect on the node, so that nobody has to
					 * know when it is over: COMMIT is not waited for */
	XACT_LOCK,		/* joins the transaction and locks rows: over the session that would
					 * write, but there will be nothing to prepare */
	XACT_WRITE,		/* joins the transaction and writes */
	/* As XACT_READ and XACT_WRITE, for a statement that is one task and its own
	 * transaction: no BEGIN is sent where the session can do without. */
	XACT_READ_ALONE,
	XACT_WRITE_ALONE
} XactAccess;

/*
 * The owner session to a node, with what must go ahead of the next statement in its
 * preamble. Does not wait. The node must not be this one: local work runs in the backend.
 */
extern Session *xact_session(const DistNode *node, XactAccess access);

/*
 * The same for one of several reads of the statement that `several` executes: in a READ
 * COMMITTED block they see the node as of one moment, too. NULL: it is the only one.
 */
extern Session *xact_session_of(const DistNode *node, XactAccess access, EState *several);

/* Raises an error unless there can be a session to each of the nodes; before they are
 * sent anything. */
extern void xact_require_sessions(List *nodes);

/* Does a query that called a function see what the execution sees, by the same snapshot?
 */
extern bool xact_shares_snapshot(EState *estate);

/* The execution ends, but its state is kept for one that comes later and sees what is
 * there then. */
extern void xact_execution_ends(const EState *estate);

/*
 * May several sessions share the owner's snapshot of the node, for the reads of this
 * statement? Only if it is its own transaction and can't write; the caller knows of
 * functions in it that could.
 */
extern bool xact_may_spread(const DistNode *node);

/*
 * One more session to the node, for reads as of `snapshot`: pg_export_snapshot() of the
 * owner session, which has joined with XACT_SNAPSHOT. It stays in the transaction. NULL
 * when there is no place for it; it may turn out that it can't connect.
 */
extern Session *xact_reader(const DistNode *node, const char *snapshot);

/* Closes such a session that is of no use. */
extern void xact_reader_drop(Session *session);

/*
 * Must a statement join a transaction: are we in a transaction block, a subtransaction, a
 * function, or has something been written already?
 */
extern bool xact_must_join(void);

/* Runs COPY FROM into a distributed table by `run`, known as what its triggers run for.
 * Returns what that does. */
extern uint64 xact_copy_from(const CopyStmt *stmt, const char *text,
							 uint64 (*run)(const CopyStmt *stmt, const char *text));

/* ------------------------------------------------------------------------------------
 * Calls of distributed functions that another node runs; see call.c.
 */

/* Is the running statement, a SELECT or a CALL, all of its transaction, so that another
 * node may do it instead? */
extern bool xact_may_hand_over(void);

/*
 * The session over which the node gets such a statement, with nothing in its preamble and
 * no transaction; NULL: there is none that can do it. The node has then committed when
 * the statement is over. `settings`: also with the client's of Pando's own.
 */
extern Session *xact_session_to_serve(const DistNode *node, bool settings);

/*
 * May another node run a call within this transaction, over the session that writes
 * there? `estate`: the call's own execution; NULL: it has none.
 */
extern bool xact_may_delegate(EState *estate);

/* The delegated call was rolled back on the node, and has to run here. */
extern void xact_undelegate(const DistNode *node, bool wrote_before);

/* Is the query that is being planned from this text the client's own, and not one of a
 * function? */
extern bool xact_plans_for_client(const char *source);

/* The name of a constraint in the error (query_canceled) of a node that can't do a call
 * so: it is to be rolled back there and run here. */
#define XACT_NEEDS_OTHERS "pando_call_needs_others"

/* Raises that a call with force_delegation does what it must not. */
extern void xact_raise_forced(const char *detail) pg_attribute_noreturn();

/*
 * Has the node run a utility statement, all of its transaction, as if the client had sent
 * it there; and is this backend about to do so?
 */
extern void xact_serve_statement(const DistNode *node, const char *sql);
extern bool xact_serves_statement(void);

/* Is this backend another node's session? Anybody may make it look like one. */
extern bool xact_is_for_node(void);

/* The same, and it has shown a proof of it. */
extern bool xact_is_proven_for_node(void);

/*
 * Around a call that this backend runs for another node. `forced`: it may not run
 * elsewhere. Once it has ended well xact_serve_check() raises an error if it has done
 * what it must not do here; `queued`: triggers wait for the end of the transaction.
 */
extern void xact_serve(bool forced);
extern void xact_serve_end(void);
extern void xact_serve_check(bool queued);
extern bool xact_serves_call(void);

/* Raises where a served call can't do such a statement. */
extern void xact_serve_utility(const Node *statement);

/* The node, which the transaction has written to, is to commit before the others do. */
extern void xact_commit_first(const DistNode *node);

/* Has the current transaction written to that node (group)? */
extern bool xact_wrote_on(int32 group);

/* Does the transaction keep one snapshot on a node, though it is READ COMMITTED: does a
 * statement read there that is all of it? */
extern bool xact_keeps_snapshot(void);

/* Tells that local shards or metadata were changed in this backend (counts as a writer).
 */
extern void xact_wrote_locally(void);

/* ------------------------------------------------------------------------------------
 * Running commands on nodes, in the transaction, and waiting for all of them.
 */

/* One command on each of the nodes (List of const DistNode *), in parallel; this node's
 * runs inside the backend. Raises the first error. */
extern void xact_run_on_nodes(List *nodes, const char *sql);

/* The same with a command of its own per node (List of char *, as many as nodes). */
extern void xact_run_each(List *nodes, List *commands);

/*
 * The same for what only nodes may ask of each other: the command is signed, and the
 * functions that it calls begin with xact_require_node(). It holds no text of the user's
 * that could call them.
 */
extern void xact_tell_nodes(List *nodes, const char *sql);

/* Raises unless called by xact_tell_nodes(), of whatever node, or by a superuser. */
extern void xact_require_node(const char *function);

/*
 * What the coordinator leads for the client of another node (relay.c). There: runs the
 * text and returns what other nodes have to be told (List of RelayedCommand *).
 */
typedef struct RelayedCommand
{
	List *groups; /* of the nodes */
	bool order;	  /* as by xact_tell_nodes() */
	char *sql;
} RelayedCommand;
extern bool xact_is_relaying(void);
extern List *xact_relay(void (*run)(const char *text), const char *text);

/* On the client's node: what the node's function, whose call is `sql`, returned of that;
 * and telling it, this node included or not. */
extern List *xact_relayed(const DistNode *node, const char *sql);
extern void xact_tell_relayed(const RelayedCommand *command, bool here);

/*
 * One command on each of these other nodes, outside of the transaction, with the rights
 * of the session's user. Returns the nodes where it failed, which warnings tell.
 */
extern List *xact_try_outside(List *nodes, const char *sql);

/* First column of the first row from one node, as text; NULL when none. */
extern char *xact_value_from_node(const DistNode *node, const char *sql);

/* The same of another node, by a command that is signed as xact_tell_nodes() does it. */
extern char *xact_value_told(const DistNode *node, const char *sql);

/*
 * The same of several nodes at once, each asked by its own command, while a statement is
 * planned, of what anybody may see: it begins no transaction on a node, since what the
 * statement needs of one is not known yet. List of char *, NULL also for a node that
 * can't be reached, or not soon.
 */
extern List *xact_values_for_plan(List *nodes, List *commands);

/*
 * Outside the transaction (autocommit on a session of its own): for what must not be
 * rolled back or can't run in a transaction block, such as CREATE INDEX CONCURRENTLY,
 * VACUUM. Runs in parallel; raises the first error after all have ended.
 */
extern void xact_run_outside(List *nodes, List *commands);

/*
 * Callbacks by higher layers, called in order of registration. AT_PREPARE: before remote
 * commit starts (may raise); AT_END: transaction over, `committed` says how (must not
 * raise).
 */
typedef enum XactMoment
{
	XACT_MOMENT_PREPARE,
	XACT_MOMENT_END
} XactMoment;
typedef void (*XactMomentCallback)(XactMoment moment, bool committed);
extern void xact_register(XactMomentCallback callback);

/* Global pid of this backend: node id * 10^10 + pid. */
extern uint64 xact_global_pid(void);

/* Settles prepared transactions of crashed ones; returns how many (the SQL function's
 * body). */
extern int xact_recover(void);

/*
 * Settles what a crash of this server left prepared on a node that was just joining. The
 * node must be one that can be reached.
 */
extern void xact_recover_joining(const DistNode *node);

/*
 * What a crash of this server left prepared on other nodes is settled when this returns.
 * For statements on objects that may be in there, where nothing else would make them
 * wait.
 */
extern void xact_settle_past(void);

/*
 * Waits for what other nodes have prepared on this one: where it began it may have
 * committed, and let go of what this backend has just got there.
 */
extern void xact_await_prepared(void);

#endif
