/*
 * run.c: commands between nodes, for the modules above.
 *
 * Remote nodes get their command first, then this node runs its own, then all are waited
 * for: the nodes work at the same time.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pando/base/debug_point.h"
#include "pando/base/sql.h"
#include "pando/transaction/access.h"
#include "pando/transaction/member.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* So long may a node think about what a plan can do without. */
#define PLAN_WAIT_MS 3000

static bool
is_local(const DistNode *node)
{
	return node->group == node_local_group();
}

static void
run_locally(const char *sql, bool order)
{
	PG_TRY();
	{
		access_order_here(order);
		(void) sql_run_as_is(sql);
	}
	PG_FINALLY();
	{
		access_order_here(false);
	}
	PG_END_TRY();
	CommandCounterIncrement();
}

static void
run_each(List *nodes, List *commands, bool sign)
{
	List *sessions = NIL;
	const char *noted = NULL;
	ListCell *node_cell;
	ListCell *command_cell;

	xact_require_sessions(nodes);
	forboth(node_cell, nodes, command_cell, commands)
	{
		const DistNode *node = lfirst(node_cell);
		const char *command;
		Session *session;

		if (is_local(node))
			continue;
		command = lfirst(command_cell);
		if (relay_note(node, sign, command, command == noted))
		{
			noted = command;
			continue;
		}
		session = member_acquire(node, true, false);
		session_send_simple(session,
							sign ? access_sign_order(session, command) : command);
		sessions = lappend(sessions, session);
	}
	forboth(node_cell, nodes, command_cell, commands)
	{
		if (is_local(lfirst(node_cell)))
			run_locally(lfirst(command_cell), sign);
	}
	foreach_ptr (Session, session, sessions)
		session_result_free(session_finish(session));
	list_free(sessions);
}

void
xact_run_each(List *nodes, List *commands)
{
	run_each(nodes, commands, false);
}

static void
run_on_nodes(List *nodes, const char *sql, bool sign)
{
	List *commands = NIL;

	foreach_ptr (const DistNode, node, nodes)
	{
		(void) node;
		commands = lappend(commands, unconstify(char *, sql));
	}
	run_each(nodes, commands, sign);
	list_free(commands);
}

void
xact_run_on_nodes(List *nodes, const char *sql)
{
	run_on_nodes(nodes, sql, false);
}

void
xact_tell_nodes(List *nodes, const char *sql)
{
	run_on_nodes(nodes, sql, true);
}

static char *
value_of(PGresult *result)
{
	char *value = NULL;

	if (result != NULL && PQntuples(result) > 0 && PQnfields(result) > 0 &&
		!PQgetisnull(result, 0, 0))
		value = pstrdup(session_value(result, 0, 0));
	session_result_free(result);
	return value;
}

char *
xact_value_from_node(const DistNode *node, const char *sql)
{
	if (is_local(node))
		return sql_value("%s", sql);
	return value_of(session_run(member_acquire(node, false, false), sql));
}

char *
xact_value_told(const DistNode *node, const char *sql)
{
	Session *session;

	Assert(!is_local(node));
	session = member_acquire(node, false, false);
	return value_of(session_run(session, access_sign_order(session, sql)));
}

/* A node that is asked for the sake of a plan; session is NULL for this node. */
typedef struct Asked
{
	Session *session;
	bool member; /* of the transaction */
	const char *sql;
} Asked;

static Asked *
ask(const DistNode *node, const char *sql)
{
	Asked *asked = palloc0(sizeof(Asked));

	asked->sql = sql;
	if (is_local(node))
		return asked;
	asked->member = member_has_begun(node->group);
	asked->session =
		asked->member ? xact_session(node, XACT_ONLY_READ) : run_claim_plain(node);
	if (asked->member || asked->session->state != SESSION_DEAD)
		session_send_simple(asked->session, sql);
	return asked;
}

static char *
answer(const Asked *asked, long timeout_ms)
{
	char *value;

	if (asked->session == NULL)
		return renew_value_aside(asked->sql);
	if (asked->member)
		return value_of(session_finish(asked->session));
	value = value_of(session_try_finish(asked->session, timeout_ms));
	session_release(asked->session);
	return value;
}

List *
xact_values_for_plan(List *nodes, List *commands)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), PLAN_WAIT_MS);
	List *asked = NIL;
	List *sessions = NIL;
	List *values = NIL;
	ListCell *node_cell;
	ListCell *command_cell;

	forboth(node_cell, nodes, command_cell, commands) asked =
		lappend(asked, ask(lfirst(node_cell), lfirst(command_cell)));
	DEBUG_POINT("plan-after-question");
	foreach_ptr (Asked, one, asked)
	{
		if (one->session != NULL && !one->member)
			sessions = lappend(sessions, one->session);
	}
	session_wait_all(sessions, PLAN_WAIT_MS);
	foreach_ptr (Asked, one, asked)
		values = lappend(values, answer(one, TimestampDifferenceMilliseconds(
												 GetCurrentTimestamp(), end)));
	list_free(sessions);
	list_free_deep(asked);
	return values;
}

/* Brings the client's settings to a session in a flight of their own, since commands that
 * refuse to run in a transaction block also refuse company. */
static void
send_settings(List *outside)
{
	foreach_ptr (Member, member, outside)
	{
		member_settings(member);
		if (member->session->preamble.len > 0)
			session_send_simple(member->session, "SELECT");
	}
	foreach_ptr (Member, member, outside)
	{
		if (member->session->state != SESSION_IDLE)
			session_result_free(session_finish(member->session));
		member->settings_sent = false;
	}
}

void
xact_run_outside(List *nodes, List *commands)
{
	List *outside = NIL;
	ListCell *member_cell;
	ListCell *command_cell;
	Session *failed = NULL;
	PGresult *error = NULL;

	foreach_ptr (const DistNode, node, nodes)
		outside = lappend(outside, member_add(node, false));
	send_settings(outside);
	forboth(member_cell, outside, command_cell, commands)
	{
		Member *member = lfirst(member_cell);

		session_send_simple(member->session, lfirst(command_cell));
	}
	foreach_ptr (Member, member, outside)
	{
		Session *session = member->session;
		PGresult *result;

		do
		{
			while ((result = session_result(session)) != NULL)
			{
				if (PQresultStatus(result) == PGRES_FATAL_ERROR && error == NULL)
				{
					error = result;
					failed = session;
				}
				else
					session_result_free(result);
			}
			if (session->state == SESSION_IDLE || session->state == SESSION_DEAD)
				break;
		} while (session_wait_any(list_make1(session), -1) != NULL);
		if (session->state == SESSION_DEAD && failed == NULL)
			failed = session;
	}
	if (error != NULL)
		session_raise(failed, error, ERROR);
	if (failed != NULL)
		session_raise_lost(failed, ERROR);
	foreach_ptr (Member, member, outside)
	{
		session_release(member->session);
		members = list_delete_ptr(members, member);
		pfree(member);
	}
	list_free(outside);
}

/*
 * A session of its own, outside of the transaction, to be given back with
 * session_release(). May be dead or still connecting.
 */
Session *
run_claim_plain(const DistNode *node)
{
	NodeAddress address = {.node_id = node->id,
						   .group = node->group,
						   .host = node->host,
						   .port = node->port};
	Session *session;

	members_close_strangers();
	session = session_claim(&address, GetSessionUserId());
	if (session->settings != NULL)
	{
		/* As ourselves, not with the role and settings of its last user. An error of what
		 * comes behind takes it back. */
		appendStringInfoString(&session->preamble, settings_reset_text());
		member_settings_doubt(session);
	}
	return session;
}

/*
 * Waits for the session's flight; returns its last result, NULL with a report at elevel
 * (below ERROR) when the session was lost. The result is the caller's to free.
 */
PGresult *
run_outcome(Session *session, int elevel)
{
	PGresult *last = NULL;
	PGresult *result;

	for (;;)
	{
		while ((result = session_result(session)) != NULL)
		{
			session_result_free(last);
			last = result;
		}
		if (session->state == SESSION_IDLE || session->state == SESSION_DEAD)
			break;
		(void) session_wait_any(list_make1(session), -1);
	}
	if (session->state == SESSION_DEAD)
	{
		session_result_free(last);
		session_raise_lost(session, elevel);
		return NULL;
	}
	return last;
}

/*
 * Asks all nodes at once, outside of the transaction. A List of PGresult *, one per node,
 * NULL where it failed, which is reported at elevel (below ERROR).
 */
List *
run_quietly(List *nodes, const char *sql, int elevel)
{
	List *sessions = NIL;
	List *results = NIL;

	foreach_ptr (const DistNode, node, nodes)
	{
		Session *session = run_claim_plain(node);

		if (session->state != SESSION_DEAD)
			session_send_simple(session, sql);
		sessions = lappend(sessions, session);
	}
	foreach_ptr (Session, session, sessions)
	{
		PGresult *last = run_outcome(session, elevel);

		if (last != NULL && PQresultStatus(last) == PGRES_FATAL_ERROR)
		{
			session_raise(session, last, elevel);
			session_result_free(last);
			last = NULL;
		}
		results = lappend(results, last);
		session_release(session);
	}
	list_free(sessions);
	return results;
}

List *
xact_try_outside(List *nodes, const char *sql)
{
	List *results = run_quietly(nodes, sql, WARNING);
	List *failed = NIL;
	ListCell *node_cell;
	ListCell *result_cell;

	forboth(node_cell, nodes, result_cell, results)
	{
		if (lfirst(result_cell) == NULL)
			failed = lappend(failed, lfirst(node_cell));
		else
			session_result_free(lfirst(result_cell));
	}
	return failed;
}
