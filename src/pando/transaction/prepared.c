/*
 * prepared.c: the side of a node where others prepare transactions.
 *
 * A session that another node sends PREPARE TRANSACTION, COMMIT PREPARED or ROLLBACK
 * PREPARED does what PostgreSQL does; here are the places where a test interrupts it.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "nodes/parsenodes.h"
#include "pando/base/debug_point.h"
#include "pando/base/sql.h"
#include "pando/transaction/member.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"

#define GID_PREFIX "pando_"

/* Is it a name that a node of a cluster made? */
bool
prepared_is_of_node(const char *gid)
{
	return gid != NULL && strncmp(gid, GID_PREFIX, strlen(GID_PREFIX)) == 0;
}

/* Before a transaction statement of another node runs. */
void
prepared_before(const TransactionStmt *statement)
{
	if (statement->kind == TRANS_STMT_BEGIN && identity_is_node_session())
		DEBUG_POINT("node-before-begin");
	if (statement->kind == TRANS_STMT_BEGIN && statement->options != NIL &&
		identity_serves_node())
		doubt_before_begin();
	if (!prepared_is_of_node(statement->gid))
		return;
	if (statement->kind == TRANS_STMT_PREPARE)
		DEBUG_POINT("node-before-prepare");
	else if (statement->kind == TRANS_STMT_COMMIT_PREPARED)
		DEBUG_POINT("node-before-commit-prepared");
	else if (statement->kind == TRANS_STMT_ROLLBACK_PREPARED)
		DEBUG_POINT("node-before-rollback-prepared");
}

/* After it did. PREPARE itself happens after its statement: prepared_done(). */
void
prepared_after(const TransactionStmt *statement)
{
	if (!prepared_is_of_node(statement->gid))
		return;
	if (statement->kind == TRANS_STMT_COMMIT_PREPARED)
		DEBUG_POINT("node-after-commit-prepared");
	else if (statement->kind == TRANS_STMT_ROLLBACK_PREPARED)
		DEBUG_POINT("node-after-rollback-prepared");
}

/*
 * Waits for what other nodes have prepared here: it may have committed where it began.
 */
void
xact_await_prepared(void)
{
	foreach_ptr (
		char, xid,
		sql_column("SELECT transaction FROM pg_catalog.pg_prepared_xacts WHERE database "
				   "= pg_catalog.current_database() AND pg_catalog.starts_with(gid, %s)",
				   quote_literal_cstr(GID_PREFIX)))
		XactLockTableWait((TransactionId) strtoul(xid, NULL, 10), NULL, NULL, XLTW_None);
	AcceptInvalidationMessages();
}

/* The transaction of this backend is prepared, and nothing may raise. */
void
prepared_done(void)
{
	DEBUG_POINT_NO_ERROR("node-after-prepare");
}
