/*
 * restore_point.c: citus_create_restore_point(): one name in the WAL of all nodes.
 *
 * While it is written the gates of all nodes are closed (gate.c), so that on each node
 * every multi-node commit is wholly before or wholly after it. Servers restored to it
 * have of each such transaction: all of it; or what was prepared and, on its initiating
 * node, the record that it is to be committed, or none, by which recovery settles it.
 */
#include "pando/compat/compat.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pando/base/debug_point.h"
#include "pando/transaction/member.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"

#define LEASE_MS 30000

PG_FUNCTION_INFO_V1(citus_create_restore_point);

static XLogRecPtr
write_everywhere(List *nodes, const char *name)
{
	List *sessions = NIL;
	XLogRecPtr lsn;

	foreach_ptr (const DistNode, node, nodes)
	{
		Session *session = member_plain(node);

		session_send_simple(session,
							psprintf("SELECT pg_catalog.pg_create_restore_point(%s)",
									 quote_literal_cstr(name)));
		sessions = lappend(sessions, session);
	}
	lsn = XLogRestorePoint(name);
	foreach_ptr (Session, session, sessions)
		session_result_free(session_finish(session));
	return lsn;
}

static XLogRecPtr
write_with_gates_closed(const char *name)
{
	List *nodes = node_list(NODES_OTHER);
	XLogRecPtr lsn = InvalidXLogRecPtr;

	PG_TRY();
	{
		closing_begin(nodes, LEASE_MS);
		lsn = write_everywhere(nodes, name);
		DEBUG_POINT("restore-point-written");
		if (!closing_end())
			ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
							errmsg("the restore point took too long on some node"),
							errdetail("It is not the same moment on all nodes."),
							errhint("Create one with another name.")));
	}
	PG_CATCH();
	{
		closing_give_up();
		PG_RE_THROW();
	}
	PG_END_TRY();
	return lsn;
}

/* citus_create_restore_point(name): where it is in this node's WAL */
Datum
citus_create_restore_point(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	if (!XLogIsNeeded())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("WAL level not sufficient for creating a restore point"),
				 errhint("wal_level must be set to \"replica\" or \"logical\" on all "
						 "nodes.")));
	if (strlen(name) >= MAXFNAMELEN)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("value too long for restore point (maximum %d characters)",
							   MAXFNAMELEN - 1)));
	PG_RETURN_LSN(write_with_gates_closed(name));
}
