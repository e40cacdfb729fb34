/*
 * call.c: a call of a distributed function that another node runs as if it were its own
 * client's.
 *
 * The call must be all of its transaction: then the node that has the rows may lead the
 * transaction, may write to other nodes in it (by its own two-phase commit), and a
 * procedure may end it and begin another one. In anything larger the call runs where the
 * client is, within the client's transaction; that is always right.
 *
 * So the node must have no transaction of ours open, and the session's settings go ahead
 * in a flight of their own: what stands in one message with a CALL would be a transaction
 * block around it.
 *
 * On the node the backend *serves* the call meanwhile: unlike other commands of nodes it
 * is a client's statement there, whose schema changes go to all nodes.
 */
#include "pando/compat/compat.h"

#include "pando/transaction/access.h"
#include "pando/transaction/member.h"
#include "tcop/pquery.h"

static int serving = 0;

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
xact_session_to_serve(const DistNode *node)
{
	Session *session;
	Member *member = member_owner(node);

	session = member->session;
	/* A pooler's process keeps settings for a transaction only. */
	if (session->pooled)
		return NULL;
	if (session->state == SESSION_DEAD)
		session_raise_lost(session, ERROR);
	member_settings(member);
	if (session->preamble.len > 0)
	{
		session_send_simple(session, "SELECT");
		session_result_free(session_finish(session));
		/* Nothing takes them back any more. */
		member->settings_sent = false;
	}
	member->alone = true;
	return session;
}

bool
xact_is_for_node(void)
{
	return identity_is_node_session();
}

void
xact_serve(bool begin)
{
	serving += begin ? 1 : -1;
}

bool
xact_serves_call(void)
{
	return serving > 0;
}
