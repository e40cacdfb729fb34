/*
 * closing.c: keeping the gates of all nodes closed from one backend (gate.c).
 *
 * Over the transaction's own session to each node, since making another connection for
 * it would take longer than all the rest. closing_begin() may be called within or before
 * the transactions there. An error in between makes sessions unusable, so they are given
 * up: their ends open the gates.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "pando/transaction/access.h"
#include "pando/transaction/member.h"
#include "utils/memutils.h"

static List *closed = NIL; /* Session *, in TopTransactionContext */

/* Closes the gates of these other nodes and of this one. */
void
closing_begin(List *nodes, int lease_ms)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	closed = NIL;
	foreach_ptr (const DistNode, node, nodes)
	{
		Session *session = member_plain(node);

		closed = lappend(closed, session);
		session_send_simple(
			session, access_sign_order(
						 session, psprintf("SELECT pando.gate_close(%d)", lease_ms)));
	}
	MemoryContextSwitchTo(old);
	gate_keep_closed(lease_ms);
	foreach_ptr (Session, session, closed)
		session_result_free(session_finish(session));
}

/* Opens them; false: some lease was over, and what was done meanwhile is worth nothing.
 */
bool
closing_end(void)
{
	bool held = gate_reopen();

	foreach_ptr (Session, session, closed)
		session_send_simple(session, "SELECT pando.gate_open()");
	foreach_ptr (Session, session, closed)
	{
		PGresult *result = session_finish(session);

		if (result == NULL || PQntuples(result) != 1 ||
			strcmp(session_value(result, 0, 0), "t") != 0)
			held = false;
		session_result_free(result);
	}
	closed = NIL;
	return held;
}

/* The same after an error, without waiting for anybody. */
void
closing_give_up(void)
{
	(void) gate_reopen();
	foreach_ptr (Session, session, closed)
		session_abandon(session, "an error while its gate was closed");
	closed = NIL;
}
