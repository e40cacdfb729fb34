/*
 * member.h: what this module's files share: the sessions of the current transaction.
 *
 * A Member is a session that takes part in the transaction. Members live in
 * TopTransactionContext, their sessions outlive them. Levels are nesting levels of
 * subtransactions as GetCurrentTransactionNestLevel() counts them: 1 is the top.
 * Session.savepoint_depth is the deepest level whose savepoint on the node belongs to the
 * present subtransaction of that level; sent_level may be deeper, while savepoints of
 * ended subtransactions wait to be released.
 */
#ifndef PANDO_TRANSACTION_MEMBER_H
#define PANDO_TRANSACTION_MEMBER_H

#include "pando/compat/compat.h"
#include "executor/execdesc.h"
#include "nodes/parsenodes.h"
#include "pando/transaction/xact.h"

typedef struct Member
{
	Session *session;
	int32 group;
	bool owner;		  /* handed out by xact_session() */
	bool alone;		  /* runs statements that are their own transaction */
	bool first;		  /* the others are to commit after it */
	bool did_more;	  /* than read: it was used otherwise than with XACT_ONLY_READ */
	bool locked;	  /* holds row locks, to be kept until all others have committed */
	int joined_level; /* where it was first used; what is above it knows nothing of it */
	int sent_level;
	bool
		was_in_xact; /* these three: as it was before what the unsent preamble promises */
	int was_depth;
	int was_sent_level;
	bool read_only;
	int read_only_level; /* of the subtransaction that ends it */
	Oid acting;			 /* whom the node's backend acts as, see access.h */
	bool acted;			 /* it has been somebody else in this transaction */
	bool acting_unknown; /* a rollback may have taken it back */
	bool one_snapshot;	 /* its transaction has the same snapshot to its end */
	int statement;		 /* the node's pando.statement; -1: not known */
	bool settings_sent;	 /* in this transaction: a rollback takes them back */
} Member;

/* member.c */
extern List *members;
extern void members_reset(void);
extern void members_close_strangers(void);
extern bool members_wrote_locally(void);
extern void members_require_places(void);
extern Member *member_add(const DistNode *node, bool owner);
extern Member *member_owner(const DistNode *node);
extern void member_forget(Member *member);
extern bool member_has_begun(int32 group);
extern void member_settings(Member *member);

/* Around the command with which a node leads for the client, his settings of Pando's go
 * along. */
extern void member_settings_lead(bool begin);

extern void member_unpromise(Member *member);
extern void member_act(Member *member, Oid role);
extern void member_settings_undone(Member *member);
extern void member_settings_doubt(Session *session);
extern Session *member_plain(const DistNode *node);
extern bool members_have_worked(void);
extern void members_begin_anew(void);
extern bool members_are_surrounded(void);
extern Session *member_acquire(const DistNode *node, bool write, bool single_snapshot);

/* settings.c: the client's settings as SQL; the same pointer as long as nothing changes.
 */
extern const char *settings_text(void);
extern uint64 settings_fingerprint(void); /* differs when they do */
extern void settings_level_ends(bool is_top);
extern char *settings_lead_text(void);
extern const char *settings_base_text(void);
extern const char *settings_reset_text(void);
extern char *settings_local(const char *settings);

/* finish.c */
extern void finish_register(void);
extern bool settle(List *sessions, long timeout_ms, int elevel);
extern void cancel_all(List *sessions);
extern void members_make_ready(void);
extern void commit_plainly(bool two_phase);

/* Gives up the sessions that are under way still, and says so: they are dead afterwards.
 */
extern void abandon(List *sessions, const char *why, int elevel);

/* How long a node may take to end a cancelled command, and to roll back. */
#define CANCEL_MS 5000
#define ROLLBACK_MS 10000

/* savepoint.c */
extern void savepoint_init(void);
extern void savepoint_before(const TransactionStmt *statement);

/* client_limit.c */
extern void client_limit_init(void);

/* two_phase.c */
extern bool two_phase_needed(void);
extern void two_phase_prepare(bool for_client);
extern void two_phase_commit(void);
extern char *two_phase_prefix(void);

/* identity.c */
extern void identity_init(void);
extern uint64 identity_transaction_number(void);
extern void identity_transaction_end(void);
extern bool identity_is_node_session(void);

/* What this backend sets pando.session_proof to in a session of that role. */
extern const char *identity_proof(Oid role);
extern bool identity_is_running(int pid, uint64 number);
extern bool identity_serves_node(void);
extern bool identity_names_node(const char *application);
extern bool identity_is_of_past(uint64 number);
extern bool identity_cancel_victim(int pid, const char *detail);
extern void identity_rethrow(void) pg_attribute_noreturn();
extern bool identity_await_settlement(uint64 sessions, int timeout_ms);
extern uint64 identity_session_bit(int session);
extern void identity_settled(int pid, uint64 number, int session);

/* run.c: sessions outside of the transaction, with the rights of this backend's user */
extern Session *run_claim_plain(const DistNode *node);
extern PGresult *run_outcome(Session *session, int elevel);
extern List *run_quietly(List *nodes, const char *sql, int elevel);

/* relay.c: notes a command instead of sending it, if this node runs something for
 * another's client; `again`: it is the last one noted, for one more node. */
extern bool relay_note(const DistNode *node, bool order, const char *sql, bool again);
extern void relay_require_none(const DistNode *node);

/* recovery.c */
extern int recovery_unreached(void);

/*
 * A transaction that is prepared for longer than DOUBT_MS is in doubt: its node makes
 * readers wait for it. A node looks at least once per DOUBT_SLACK_MS.
 */
#define DOUBT_MS 2000
#define DOUBT_SLACK_MS 1000

/* doubt.c */
extern void doubt_init(void);
extern void doubt_check_query(QueryDesc *query, bool renewable);
extern bool doubt_check_relation(Oid relid);
extern void doubt_before_begin(void);
extern bool doubt_exists(void);

/* gate.c */
extern void gate_init(void);
extern void gate_enter(bool first);
extern void gate_leave(void);
extern void gate_leave_unsettled(void);
extern void gate_keep_closed(int lease_ms);
extern bool gate_reopen(void);

/* closing.c */
extern void closing_begin(List *nodes, int lease_ms);
extern bool closing_end(void);
extern void closing_give_up(void);

/* cluster_snapshot.c */
extern void cluster_snapshot_init(void);
extern void cluster_snapshot_before(QueryDesc *query, bool renewable);

/* renew.c */
extern bool renew_is_possible(const QueryDesc *query);
extern void renew_snapshot(QueryDesc *query);
extern char *renew_value_aside(const char *sql);

/* statement_snapshot.c */
extern void statement_snapshot_init(void);
extern int statement_number(EState *estate);
extern void statement_snapshot_take(QueryDesc *query, bool renewed);
extern void statement_snapshot_end(bool committed);

/* clock.c */
extern void clock_init(void);

/* prepared.c */
#define PREPARED_BY_NODE "pando_" /* what the names begin with */
#define PREPARED_FOR_CLIENT "c"	  /* and end with, if a client commits */

typedef struct Prepared
{
	TransactionId xid;
	char *gid;
	TimestampTz when;
} Prepared;

extern bool prepared_is_of_node(const char *gid);
extern bool prepared_is_for_client(const char *gid);
extern List *prepared_here(void); /* Prepared *, of this database */
extern void prepared_before(const TransactionStmt *statement);
extern void prepared_after(const TransactionStmt *statement);
extern void prepared_done(void);

/* recovery.c: ends what is prepared on a node. The second waits and returns whether it is
 * not prepared any more; else there has been a WARNING. */
extern void prepared_send_end(Session *session, const char *gid, bool commit);
extern bool prepared_has_ended(Session *session);

/* client_prepare.c */
extern void client_prepare(void);

/* Around a statement: the first returns the records of the prepared transaction that it
 * ends, the second tells their nodes. */
extern List *client_prepare_before(const TransactionStmt *statement);
extern void client_prepare_after(const TransactionStmt *statement, List *records);

/* secondary.c */
extern void secondary_init(void);

/* Raises if reads go to secondaries: what could be written wouldn't be seen. */
extern void secondary_refuse_write(const char *what);
extern void secondary_check_query(const QueryDesc *query);
extern void secondary_refuse_cluster_snapshot(void);

/* What nodes must be told of the choices, as SQL; empty if nothing. */
extern char *secondary_settings(void);

/* access.c */
extern void access_init(void);

/* deadlock.c */
extern void deadlock_init(void);

/* attention.c */
extern void attention_init(void);

/* maintenance.c */
extern void maintenance_init(void);
extern bool maintenance_recovers(void);

/* nesting.c */
extern void nesting_init(void);
extern int nesting_depth(void);
extern bool nesting_is_top(void);
extern bool nesting_is_clear(const EState *own);
extern EState *nesting_outermost(EState *estate);
extern bool nesting_reads_only(void);

/* call.c: raises if a call that is served here must keep to this node. */
extern void call_guard(void);
extern void call_serve_init(void);

/* A statement that is running, and the one that it runs for. */
typedef struct NestingFrame
{
	QueryDesc *query;	   /* of the executor; or */
	RangeVar *copied_into; /* where COPY FROM puts rows */
	struct NestingFrame *outer;
} NestingFrame;

/*
 * copied_trigger.c: raises an error if the statement, about to start within `outer`,
 * changes a distributed table from a trigger of a table that has several copies.
 */
extern void copied_trigger_check(const QueryDesc *query, const NestingFrame *outer);

#endif
