/*
 * prepared.c: the side of a node where others prepare transactions.
 *
 * A session that another node sends PREPARE TRANSACTION, COMMIT PREPARED or ROLLBACK
 * PREPARED does what PostgreSQL does; here are the places where a test interrupts it, and
 * what is prepared.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pando/base/debug_point.h"
#include "pando/transaction/member.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/timestamp.h"

/* Is it a name that a node of a cluster made? */
bool
prepared_is_of_node(const char *gid)
{
	return gid != NULL && strncmp(gid, PREPARED_BY_NODE, strlen(PREPARED_BY_NODE)) == 0;
}

/* Is it such a name, of what a client is to commit (client_prepare.c)? */
bool
prepared_is_for_client(const char *gid)
{
	return prepared_is_of_node(gid) &&
		   strcmp(gid + strlen(gid) - strlen(PREPARED_FOR_CLIENT), PREPARED_FOR_CLIENT) ==
			   0;
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

/* A row of pg_prepared_xact(); NULL: of another database. */
static Prepared *
prepared_read(HeapTupleHeader row)
{
	bool null;
	Prepared *prepared;

	if (DatumGetObjectId(GetAttributeByNum(row, 5, &null)) != MyDatabaseId)
		return NULL;
	prepared = palloc(sizeof(Prepared));
	prepared->xid = DatumGetTransactionId(GetAttributeByNum(row, 1, &null));
	prepared->gid = TextDatumGetCString(GetAttributeByNum(row, 2, &null));
	prepared->when = DatumGetTimestampTz(GetAttributeByNum(row, 3, &null));
	return prepared;
}

/* The server's function is called without a query, so that it can be had before a
 * transaction has its snapshot. */
List *
prepared_here(void)
{
	LOCAL_FCINFO(fcinfo, 0);
	FmgrInfo function;
	ReturnSetInfo set = {.type = T_ReturnSetInfo,
						 .econtext = CreateStandaloneExprContext(),
						 .allowedModes = SFRM_ValuePerCall,
						 .returnMode = SFRM_ValuePerCall};
	List *list = NIL;

	fmgr_info(F_PG_PREPARED_XACT, &function);
	InitFunctionCallInfoData(*fcinfo, &function, 0, InvalidOid, NULL, (Node *) &set);
	for (;;)
	{
		Datum row;
		Prepared *prepared;

		set.isDone = ExprSingleResult;
		row = FunctionCallInvoke(fcinfo);
		if (set.isDone == ExprEndResult)
			break;
		prepared = prepared_read(DatumGetHeapTupleHeader(row));
		if (prepared != NULL)
			list = lappend(list, prepared);
	}
	FreeExprContext(set.econtext, true);
	return list;
}

/*
 * Waits for what other nodes have prepared here: it may have committed where it began.
 * What clients have prepared may stay for long; who meets its locks waits for it.
 */
void
xact_await_prepared(void)
{
	foreach_ptr (Prepared, prepared, prepared_here())
	{
		if (prepared_is_of_node(prepared->gid) && !prepared_is_for_client(prepared->gid))
			XactLockTableWait(prepared->xid, NULL, NULL, XLTW_None);
	}
	AcceptInvalidationMessages();
}

/* The transaction of this backend is prepared, and nothing may raise. */
void
prepared_done(void)
{
	DEBUG_POINT_NO_ERROR("node-after-prepare");
}
