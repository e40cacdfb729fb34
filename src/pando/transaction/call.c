/*
 * call.c: a call of a distributed function that another node runs.
 *
 * Handed over: the call is all of its transaction. Then the node that has the rows may
 * lead the transaction, may write to other nodes in it (by its own two-phase commit), and
 * a procedure may end it and begin another one. So the node must have no transaction of
 * ours open, and the session's settings go ahead in a flight of their own: what stands in
 * one message with a CALL would be a transaction block around it.
 *
 * Delegated: the call is part of something larger. It runs over the session that writes
 * on the node for this transaction: it sees what was written there, and what it writes is
 * committed or rolled back with the rest. It knows nothing of what the transaction did on
 * other nodes, and what it would do there this backend would not know. So on its node it
 * is *confined*: before it uses any other node, or when it has done what only means
 * something in the client's backend, the node raises XACT_NEEDS_OTHERS, and the call runs
 * where the client is (executor/call.c). A function can't go on past that: PL/pgSQL's
 * OTHERS does not catch it, and what has caught it by its name is told again at its end.
 *
 * On the node the backend *serves* the call meanwhile: unlike other commands of nodes it
 * is a client's statement there, whose schema changes go to all nodes.
 */
#include "pando/compat/compat.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/async.h"
#include "libpq/libpq.h"
#include "miscadmin.h"
#include "pando/transaction/access.h"
#include "pando/transaction/member.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"

static int serving = 0;
static bool serve_statement = false;

/* Of the outermost call that is served. */
typedef struct Confinement
{
	bool active;	   /* it is confined */
	bool forced;	   /* it may not run elsewhere: what it can't do here is an error */
	bool needs_others; /* it was told so */
	uint64 settings;   /* these three: as they were before */
	Oid user;
	bool read_only;
	bool temporary; /* tables were used before */
} Confinement;

static Confinement confinement;

/* ------------------------------------------------------------------------------------
 * Where the client is.
 */

/* Does the portal run nothing else, and to its end? */
static bool
portal_is_plain(void)
{
	if (ActivePortal == NULL || (ActivePortal->cursorOptions & CURSOR_OPT_HOLD) != 0)
		return false;
	return ActivePortal->strategy == PORTAL_ONE_SELECT ||
		   ActivePortal->commandTag == CMDTAG_CALL;
}

bool
xact_may_hand_over(void)
{
	return portal_is_plain() && nesting_depth() <= 1 && !identity_is_node_session() &&
		   !xact_must_join() && !access_role_is_out_of_reach();
}

Session *
xact_session_to_serve(const DistNode *node, bool settings)
{
	Session *session;
	Member *member = member_owner(node);

	session = member->session;
	/* A pooler's process keeps settings for a transaction only. */
	if (session->pooled)
		return NULL;
	if (session->state == SESSION_DEAD)
		session_raise_lost(session, ERROR);
	member_settings_lead(settings);
	member_settings(member);
	member_settings_lead(false);
	if (session->preamble.len > 0)
	{
		session_send_simple(session, "SELECT");
		session_result_free(session_finish(session));
		/* Nothing takes them back any more. */
		member->settings_sent = false;
	}
	member->alone = true;
	session->served = true;
	return session;
}

void
xact_serve_statement(const DistNode *node, const char *sql)
{
	Session *session = xact_session_to_serve(node, true);

	if (session == NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("the statement cannot be sent to node %s:%d by way of a "
							   "pooler",
							   node->host, node->port),
						errhint("Run it there.")));
	/* Whatever comes of it: who uses the session next takes that back first. */
	member_settings_doubt(session);
	session_result_free(session_run(session, "SET pando.serve_statement TO on"));
	session_result_free(session_run(session, sql));
}

bool
xact_serves_statement(void)
{
	return serve_statement;
}

/* A temporary table is known to this backend alone, and so is a cursor that outlives its
 * transaction, of which the rows are asked for at the transaction's end. */
static bool
has_own_things(void)
{
	Oid schema;
	Oid toast_schema;

	GetTempNamespaceState(&schema, &toast_schema);
	return OidIsValid(schema) ||
		   (ActivePortal != NULL && (ActivePortal->cursorOptions & CURSOR_OPT_HOLD) != 0);
}

bool
xact_may_delegate(EState *estate)
{
	return !identity_is_node_session() && !access_role_is_out_of_reach() &&
		   !InLocalUserIdChange() && !InSecurityRestrictedOperation() &&
		   !IsInParallelMode() && secondary_settings()[0] == '\0' && !has_own_things() &&
		   nesting_is_clear(estate);
}

void
xact_undelegate(const DistNode *node, bool wrote_before)
{
	foreach_ptr (Member, member, members)
	{
		if (member->owner && member->group == node->group && !wrote_before)
			member->session->wrote = false;
	}
}

/* ------------------------------------------------------------------------------------
 * Where the call runs.
 */

bool
xact_is_for_node(void)
{
	return identity_is_node_session();
}

void
xact_raise_forced(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("queries must filter by the distribution argument in the same "
					"colocation group when using the forced function pushdown"),
			 errdetail("%s", detail),
			 errhint("consider disabling forced delegation through "
					 "create_distributed_function(..., force_delegation := false)")));
}

static void
pg_attribute_noreturn() raise_needs_others(const char *detail)
{
	if (confinement.forced)
		xact_raise_forced(detail);
	confinement.needs_others = true;
	ereport(ERROR,
			(errcode(ERRCODE_QUERY_CANCELED),
			 errmsg("a call of a distributed function has to run where the client is"),
			 errdetail("%s", detail),
			 err_generic_string(PG_DIAG_CONSTRAINT_NAME, XACT_NEEDS_OTHERS)));
}

void
call_guard(void)
{
	if (serving > 0 && confinement.active)
		raise_needs_others("It uses other nodes than its own.");
}

void
xact_serve(bool forced)
{
	if (serving++ > 0)
		return;
	confinement =
		(Confinement){.active = IsTransactionBlock(),
					  .forced = forced,
					  .settings = settings_fingerprint(),
					  .user = GetUserId(),
					  .read_only = XactReadOnly,
					  .temporary = (MyXactFlags & XACT_FLAGS_ACCESSEDTEMPNAMESPACE) != 0};
}

static bool
has_changed_settings(void)
{
	return confinement.settings != settings_fingerprint() ||
		   confinement.user != GetUserId();
}

void
xact_serve_end(void)
{
	static uint32 told = 0;
	char message[sizeof(SESSION_SETTINGS) + 16];
	int length = sizeof(SESSION_SETTINGS);

	if (--serving > 0 || confinement.active || whereToSendOutput != DestRemote ||
		!has_changed_settings())
		return;
	/* They stay in this backend, and are not what the other node has asked for. */
	memcpy(message, SESSION_SETTINGS, length);
	length += snprintf(message + length, 16, "%u", ++told) + 1;
	(void) pq_putmessage('S', message, length);
}

/* PREPARE TRANSACTION refuses what notifies or listens. */
static bool
has_notified(void)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool notified = false;

	PG_TRY();
	{
		AtPrepare_Notify();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		notified = true;
	}
	PG_END_TRY();
	return notified;
}

void
xact_serve_check(bool queued)
{
	const char *detail = NULL;

	if (serving > 0 || !confinement.active)
		return;
	if (confinement.needs_others)
		detail = "It uses other nodes than its own.";
	else if (has_changed_settings() || confinement.read_only != XactReadOnly)
		detail = "It has changed settings, which are the client's.";
	else if (!confinement.temporary &&
			 (MyXactFlags & XACT_FLAGS_ACCESSEDTEMPNAMESPACE) != 0)
		detail = "It has used temporary tables, which are the client's.";
	else if (has_notified())
		detail = "It has used NOTIFY or LISTEN.";
	else if (queued)
		detail = "It has changed rows for which triggers are deferred.";
	if (detail != NULL)
		raise_needs_others(detail);
}

static const RangeVar *
relation_made(const Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_CreateStmt:
			return ((const CreateStmt *) statement)->relation;
		case T_CreateTableAsStmt:
			return ((const CreateTableAsStmt *) statement)->into->rel;
		case T_ViewStmt:
			return ((const ViewStmt *) statement)->view;
		case T_CreateSeqStmt:
			return ((const CreateSeqStmt *) statement)->sequence;
		default:
			return NULL;
	}
}

/* What would keep the node's transaction from being prepared, were it rolled back or not.
 */
void
xact_serve_utility(const Node *statement)
{
	const RangeVar *relation;

	if (serving == 0 || !confinement.active)
		return;
	relation = relation_made(statement);
	if (relation != NULL &&
		(relation->relpersistence == RELPERSISTENCE_TEMP ||
		 (relation->schemaname != NULL && strcmp(relation->schemaname, "pg_temp") == 0)))
		raise_needs_others("It uses temporary tables, which are the client's.");
}

bool
xact_serves_call(void)
{
	return serving > 0;
}

void
call_serve_init(void)
{
	DefineCustomBoolVariable(
		"pando.serve_statement",
		"Statements of this node's session are its client's; set by Pando.", NULL,
		&serve_statement, false, PGC_USERSET,
		GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE, NULL, NULL, NULL);
}
