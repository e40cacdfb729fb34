/*
 * member.c: sessions joining the transaction, and what goes ahead of their next
 * statement.
 *
 * Nothing is sent here: BEGIN, savepoints and settings are written into the session's
 * preamble and go out with the statement. What a preamble promises counts as done at
 * once; the two ends of a transaction (finish.c) know that it may still be unsent.
 */
#include "pando/compat/compat.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_namespace.h"
#include "miscadmin.h"
#include "pando/base/int_map.h"
#include "pando/transaction/access.h"
#include "pando/transaction/member.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#define SETTINGS_UNKNOWN "?"

List *members = NIL;
static bool wrote_locally = false;
static Oid node_catalog = InvalidOid;
static bool nodes_changed = false;
static bool callback_registered = false;

static Member *
member_by_group(int32 group)
{
	foreach_ptr (Member, member, members)
	{
		if (member->owner && member->group == group)
			return member;
	}
	return NULL;
}

static bool
role_may_log_in(Oid role)
{
	HeapTuple tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(role));
	bool may =
		HeapTupleIsValid(tuple) && ((Form_pg_authid) GETSTRUCT(tuple))->rolcanlogin;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return may;
}

/*
 * Who to log in as: the session's user, who then takes the current role there. SET
 * SESSION AUTHORIZATION may have made a superuser one who can't log in: then as himself,
 * to act as the other there. Outside of the transaction a session can't act as another:
 * where the session's user may not take the current role (a SECURITY DEFINER function of
 * somebody else), the current user himself.
 */
static Oid
login_role(bool owner)
{
	Oid authenticated = GetAuthenticatedUserId();

	if (!owner)
		return access_role_is_out_of_reach() ? GetUserId() : GetSessionUserId();
	return authenticated != GetSessionUserId() && superuser_arg(authenticated) &&
				   !role_may_log_in(GetSessionUserId())
			   ? authenticated
			   : GetSessionUserId();
}

/* Is the session's address still that of a node? */
static bool
address_is_known(const Session *session)
{
	return node_by_name(session->address.host, session->address.port) != NULL;
}

static void
nodes_invalidated(Datum arg, Oid relid)
{
	if (!OidIsValid(relid) || relid == node_catalog)
		nodes_changed = true;
}

/* Idle connections to where no node is any more are closed. */
void
members_close_strangers(void)
{
	if (!callback_registered)
		CacheRegisterRelcacheCallback(nodes_invalidated, (Datum) 0);
	callback_registered = true;
	if (!nodes_changed && OidIsValid(node_catalog))
		return;
	node_catalog = get_relname_relid("pg_dist_node", PG_CATALOG_NAMESPACE);
	session_close_idle(address_is_known);
	/* Those in use now may be strangers when they come back. */
	nodes_changed = session_claimed_list() != NIL;
}

/* Claims a session to the node for this transaction. NULL: an extra one has no place. */
static Member *
add_member(const DistNode *node, bool owner, bool extra)
{
	NodeAddress address = {.node_id = node->id,
						   .group = node->group,
						   .host = node->host,
						   .port = node->port,
						   .pooler = owner || extra};
	MemoryContext old;
	Member *member;
	Session *session;

	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot access other nodes in a parallel worker"),
				 errhint("A function that uses distributed tables should be PARALLEL "
						 "RESTRICTED.")));
	relay_require_none(node);
	members_close_strangers();
	session = extra ? session_claim_extra(&address, login_role(true))
					: session_claim(&address, login_role(owner));
	if (session == NULL)
		return NULL;

	old = MemoryContextSwitchTo(TopTransactionContext);
	member = palloc0(sizeof(Member));
	member->session = session;
	member->group = node->group;
	member->owner = owner;
	member->joined_level = GetCurrentTransactionNestLevel();
	members = lappend(members, member);
	MemoryContextSwitchTo(old);
	return member;
}

Member *
member_add(const DistNode *node, bool owner)
{
	return add_member(node, owner, false);
}

/* Has the session's node another address by now: is another server in its place? */
static bool
is_left_behind(const Session *session)
{
	const DistNode *node = nodes_changed ? node_by_id(session->address.node_id) : NULL;

	return node != NULL && (node->port != session->address.port ||
							strcmp(node->host, session->address.host) != 0);
}

static void
raise_left_behind(const Session *session)
{
	const DistNode *node = node_by_id(session->address.node_id);

	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("node %s:%d was replaced by %s:%d during the transaction",
					session->address.host, session->address.port, node->host, node->port),
			 errdetail("What the transaction did there is not on the new server."),
			 errhint("Run the transaction again.")));
}

/*
 * Before a commit: what was written must not be on a server that is the cluster's no
 * more. Raises then.
 */
void
members_require_places(void)
{
	bool wrote = false;

	foreach_ptr (Member, member, members)
		wrote |= member->session->wrote;
	if (!wrote)
		return;
	AcceptInvalidationMessages();
	foreach_ptr (Member, member, members)
	{
		if (member->session->wrote && is_left_behind(member->session))
			raise_left_behind(member->session);
	}
}

/* The node's owner, which may be new. */
Member *
member_owner(const DistNode *node)
{
	Member *member = member_by_group(node->group);

	call_guard();
	if (member != NULL && is_left_behind(member->session))
	{
		if (member->session->in_xact)
			raise_left_behind(member->session);
		member_forget(member);
		member = NULL;
	}
	return member != NULL ? member : member_add(node, true);
}

/* Forgets it and closes its session: the node did nothing that should stay. */
void
member_forget(Member *member)
{
	members = list_delete_ptr(members, member);
	session_close(member->session);
	pfree(member);
}

static void
set_settings(Session *session, const char *settings)
{
	if (session->settings != NULL)
		pfree(session->settings);
	session->settings = settings ? MemoryContextStrdup(TopMemoryContext, settings) : NULL;
}

/* Is a transaction there what settings_base_text() says unless BEGIN says otherwise? */
static bool
begins_plainly(const Session *session)
{
	return session->settings != NULL &&
		   strcmp(session->settings, SETTINGS_UNKNOWN) != 0 && !session->pooled;
}

static void
append_begin(Member *member, bool single_snapshot, const char *snapshot)
{
	Session *session = member->session;
	const DistNode *node = node_by_id(session->address.node_id);
	const char *isolation = "READ COMMITTED";
	bool read_only = XactReadOnly || (node != NULL && !node->primary);

	if (IsolationIsSerializable())
		isolation = "SERIALIZABLE";
	else if (IsolationUsesXactSnapshot() || single_snapshot)
		isolation = "REPEATABLE READ";
	else if (!XactReadOnly && !XactDeferrable && begins_plainly(session))
		isolation = NULL;
	if (isolation == NULL)
		appendStringInfoString(&session->preamble, "BEGIN;");
	else
		appendStringInfo(&session->preamble, "BEGIN TRANSACTION ISOLATION LEVEL %s%s%s;",
						 isolation, read_only ? " READ ONLY" : " READ WRITE",
						 XactDeferrable ? " DEFERRABLE" : "");
	if (snapshot != NULL)
		appendStringInfo(&session->preamble, "SET TRANSACTION SNAPSHOT %s;",
						 quote_literal_cstr(snapshot));
	/* Another process, as its server's configuration made it. */
	if (session->pooled)
	{
		set_settings(session, "");
		session->challenge = NULL;
	}
	session->in_xact = true;
	session->savepoint_depth = 1;
	member->joined_level = GetCurrentTransactionNestLevel();
	member->one_snapshot = IsolationUsesXactSnapshot() || single_snapshot;
	member->sent_level = 1;
	member->read_only = XactReadOnly;
	member->read_only_level = 1;
}

/* Savepoints on the node for the subtransactions that are open here. */
static void
append_savepoints(Member *member)
{
	Session *session = member->session;
	int level = GetCurrentTransactionNestLevel();

	if (member->sent_level > session->savepoint_depth)
	{
		appendStringInfo(&session->preamble, "RELEASE SAVEPOINT pando_%d;",
						 session->savepoint_depth + 1);
		member->sent_level = session->savepoint_depth;
	}
	while (session->savepoint_depth < level)
		appendStringInfo(&session->preamble, "SAVEPOINT pando_%d;",
						 ++session->savepoint_depth);
	member->sent_level = session->savepoint_depth;
}

/* The node's backend becomes the role (InvalidOid: its own user) by act_as(). */
void
member_act(Member *member, Oid role)
{
	if (member->acting == role && !member->acting_unknown)
		return;
	appendStringInfoString(&member->session->preamble,
						   access_act_command(member->session, role));
	member->acting = role;
	member->acted = true;
	member->acting_unknown = false;
}

/* The node is to lead for the client. */
static bool lead_settings = false;

void
member_settings_lead(bool begin)
{
	lead_settings = begin;
}

/* Puts the client's settings into the preamble unless the node has them. */
void
member_settings(Member *member)
{
	Session *session = member->session;
	const char *wanted = settings_text();
	const char *choices = secondary_settings();
	const char *has = session->settings;
	bool act = access_must_act(session);

	if (session->served && session_settings_changed(session))
	{
		member_settings_doubt(session);
		has = session->settings;
	}
	session->served = false;
	if (choices[0] != '\0')
		wanted = psprintf("%s%s", wanted, choices);
	if (lead_settings)
		wanted = psprintf("%s%s", wanted, settings_lead_text());
	/* With its OID: a role that was dropped and made again is another one. */
	if (!act && GetUserId() != session->userid)
		wanted = psprintf("%sSET ROLE /*%u*/ %s;", wanted, GetUserId(),
						  quote_identifier(GetUserNameFromId(GetUserId(), false)));
	if (has == NULL || strcmp(wanted, has) != 0)
	{
		const char *proof = identity_proof(session->userid);

		member->statement = -1;
		member_act(member, InvalidOid);
		if (has != NULL && has[0] != '\0')
			appendStringInfoString(&session->preamble, settings_reset_text());
		if (!session->pooled && (has == NULL || has[0] != '\0'))
			appendStringInfoString(&session->preamble, settings_base_text());
		appendStringInfo(&session->preamble,
						 "SET pando.session_proof = '%s';SET pando.peer_version = '%s';",
						 proof, PANDO_VERSION);
		appendStringInfoString(&session->preamble,
							   session->pooled ? settings_local(wanted) : wanted);
		set_settings(session, wanted);
		member->settings_sent = true;
	}
	member_act(member, act ? GetUserId() : InvalidOid);
}

/* What was sent of settings may have been rolled back there. */
void
member_settings_doubt(Session *session)
{
	set_settings(session, SETTINGS_UNKNOWN);
}

/* The node rolled back, wholly or to a savepoint: settings of this transaction are gone.
 */
void
member_settings_undone(Member *member)
{
	member->acting_unknown = member->acted;
	member->statement = -1;
	if (!member->settings_sent)
		return;
	member_settings_doubt(member->session);
	member->settings_sent = false;
}

/* Takes back what is in the preamble and was never sent. */
void
member_unpromise(Member *member)
{
	Session *session = member->session;

	if (session->preamble.len == 0)
		return;
	resetStringInfo(&session->preamble);
	session->in_xact = member->was_in_xact;
	session->savepoint_depth = member->was_depth;
	member->sent_level = member->was_sent_level;
	member_settings_undone(member);
}

/* The state that the node has, which the preamble's promises will change. */
static void
remember(Member *member)
{
	member->was_in_xact = member->session->in_xact;
	member->was_depth = member->session->savepoint_depth;
	member->was_sent_level = member->sent_level;
}

/*
 * Makes the session follow the transaction as it is now. single_snapshot: all that it
 * reads is to be as of one moment, even if the client's isolation level is READ
 * COMMITTED.
 */
static void
member_join(Member *member, bool single_snapshot)
{
	Session *session = member->session;

	if (session->preamble.len == 0)
		remember(member);
	if (!session->in_xact)
		append_begin(member, single_snapshot, NULL);
	append_savepoints(member);
	if (XactReadOnly && !member->read_only)
	{
		appendStringInfoString(&session->preamble, "SET TRANSACTION READ ONLY;");
		member->read_only = true;
		member->read_only_level = session->savepoint_depth;
	}
	/* Within the transaction: a pooler may have another backend for the next one. */
	if (access_must_act(session) && access_prepare(session))
		remember(member);
	member_settings(member);
	member->alone = false;
}

/* What comes next belongs to a statement that reads there several times; 0: it doesn't.
 */
static void
member_tell_statement(Member *member, int number)
{
	if (!member->session->in_xact || member->one_snapshot || member->statement == number)
		return;
	appendStringInfo(&member->session->preamble, "SET LOCAL pando.statement = %d;",
					 number);
	member->statement = number;
}

/* The node's owner session as it is: what is sent next begins no transaction. */
Session *
member_plain(const DistNode *node)
{
	Member *member = member_owner(node);

	if (member->session->state == SESSION_DEAD)
		session_raise_lost(member->session, ERROR);
	return member->session;
}

/* Has the transaction done anything on a node that must stay? */
bool
members_have_worked(void)
{
	foreach_ptr (Member, member, members)
	{
		if (member->session->in_xact && (member->session->wrote || member->locked))
			return true;
	}
	return false;
}

/* Is a transaction of ours open on the node? */
bool
member_has_begun(int32 group)
{
	Member *member = member_by_group(group);

	return member != NULL && member->session->in_xact;
}

/* Ends the transactions on all nodes, which have done nothing: they may begin again. */
void
members_begin_anew(void)
{
	List *begun = NIL;

	foreach_ptr (Member, member, members)
	{
		member_unpromise(member);
		if (!member->session->in_xact)
			continue;
		session_send_simple(member->session, "ROLLBACK");
		begun = lappend(begun, member);
	}
	foreach_ptr (Member, member, begun)
	{
		session_result_free(session_finish(member->session));
		member->session->in_xact = false;
		member->session->savepoint_depth = 0;
		member->sent_level = 0;
		member_settings_undone(member);
	}
	list_free(begun);
}

/* The node's owner session, joined to the transaction. */
static Session *
acquire(const DistNode *node, bool write, bool single_snapshot, bool only_read)
{
	Member *member;

	if (write)
		secondary_refuse_write("a command on other nodes");
	member = member_owner(node);
	if (member->session->state == SESSION_DEAD)
		session_raise_lost(member->session, ERROR);
	member_join(member, single_snapshot);
	if (write)
		member->session->wrote = true;
	if (!only_read)
		member->did_more = true;
	return member->session;
}

Session *
member_acquire(const DistNode *node, bool write, bool single_snapshot)
{
	return acquire(node, write, single_snapshot, false);
}

/* Is the statement part of something larger? */
bool
members_are_surrounded(void)
{
	return IsTransactionBlock() || GetCurrentTransactionNestLevel() > 1 ||
		   (MyXactFlags & XACT_FLAGS_PIPELINING) != 0 || !nesting_is_top();
}

Session *
xact_session(const DistNode *node, XactAccess access)
{
	return xact_session_of(node, access, NULL);
}

/* Joins the transaction as the access asks for. */
static Session *
join_with(const DistNode *node, XactAccess access, EState *several)
{
	bool write = access == XACT_WRITE || access == XACT_WRITE_ALONE;
	bool only_read = access == XACT_ONLY_READ;
	bool single_snapshot = (access == XACT_SNAPSHOT || only_read) &&
						   !members_are_surrounded() && nesting_reads_only();
	Session *session;
	Member *member;

	if (access == XACT_LOCK)
		secondary_refuse_write("a locking SELECT");
	session = acquire(node, write, single_snapshot, only_read);
	member = member_by_group(node->group);

	if (access == XACT_LOCK)
		member->locked = true;
	member_tell_statement(member, several != NULL ? statement_number(several) : 0);
	return session;
}

Session *
xact_session_of(const DistNode *node, XactAccess access, EState *several)
{
	bool alone = access == XACT_READ_ALONE || access == XACT_WRITE_ALONE;
	Member *member;

	if (!alone || xact_must_join() || access_role_is_out_of_reach())
		return join_with(node, access, several);

	if (access == XACT_WRITE_ALONE)
		secondary_refuse_write("a command on other nodes");
	member = member_owner(node);
	if (!begins_plainly(member->session))
		return member_acquire(node, access == XACT_WRITE_ALONE, false);
	if (member->session->state == SESSION_DEAD)
		session_raise_lost(member->session, ERROR);
	member->alone = true;
	member_settings(member);
	return member->session;
}

void
xact_require_sessions(List *nodes)
{
	IntMap *seen;
	int count = 0;

	if (list_length(nodes) < 2)
		return;
	seen = int_map_create();
	foreach_ptr (Member, member, members)
	{
		if (member->owner)
			(void) int_map_first(seen, member->group);
	}
	foreach_ptr (const DistNode, node, nodes)
		count += int_map_first(seen, node->group) && node->group != node_local_group();
	session_require_room(count);
}

/*
 * An exported snapshot keeps its transaction from being prepared, and its importers don't
 * see what the transaction wrote: only where neither can matter.
 */
bool
xact_may_spread(const DistNode *node)
{
	Member *member = member_by_group(node->group);

	return !members_are_surrounded() && nesting_reads_only() &&
		   !IsolationIsSerializable() && !InLocalUserIdChange() &&
		   (member == NULL || !member->session->in_xact ||
			(member->one_snapshot && !member->session->wrote));
}

Session *
xact_reader(const DistNode *node, const char *snapshot)
{
	Member *member = add_member(node, false, true);

	if (member == NULL)
		return NULL;
	append_begin(member, true, snapshot);
	member_settings(member);
	return member->session;
}

void
xact_reader_drop(Session *session)
{
	foreach_ptr (Member, member, members)
	{
		if (member->session == session)
		{
			member_forget(member);
			return;
		}
	}
}

static bool
something_written(void)
{
	if (wrote_locally || TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return true;
	foreach_ptr (Member, member, members)
	{
		if (member->session->in_xact)
			return true;
	}
	return false;
}

bool
xact_must_join(void)
{
	/* Alone on the node it would have the node's idea of a transaction. */
	return members_are_surrounded() || IsolationUsesXactSnapshot() || XactReadOnly ||
		   something_written();
}

void
xact_commit_first(const DistNode *node)
{
	Member *member = member_by_group(node->group);

	if (member != NULL)
		member->first = true;
}

bool
xact_wrote_on(int32 group)
{
	foreach_ptr (Member, member, members)
	{
		if (member->group == group && member->session->wrote)
			return true;
	}
	return group == node_local_group() &&
		   (wrote_locally || TransactionIdIsValid(GetTopTransactionIdIfAny()));
}

bool
xact_keeps_snapshot(void)
{
	foreach_ptr (Member, member, members)
	{
		if (member->session->in_xact && member->one_snapshot &&
			!IsolationUsesXactSnapshot())
			return true;
	}
	return false;
}

void
xact_wrote_locally(void)
{
	secondary_refuse_write("a command on distributed tables");
	wrote_locally = true;
}

/* Called at the transaction's end by finish.c; the members' memory goes by itself. */
void
members_reset(void)
{
	members = NIL;
	wrote_locally = false;
	lead_settings = false;
}

bool
members_wrote_locally(void)
{
	return wrote_locally;
}
