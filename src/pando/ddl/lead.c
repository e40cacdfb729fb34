/*
 * lead.c: a schema change may begin on any node; that node *leads* it.
 *
 * It goes the coordinator's way (utility.c, cluster/table_functions.c): its own shell,
 * then all other nodes, in its transaction, whose first commit record is its own. What
 * makes the coordinator the first among the nodes is the order of locks. The
 * coordinator's lock on a shell comes before any other node's, so two changes of one
 * table meet on the coordinator, wherever they begin, and one waits there with nothing
 * that the other needs. Ids of shards, placements and groups come from the coordinator's
 * sequences (lead_next_id()).
 *
 * Who changed the table before has committed on the coordinator when the lock is given,
 * but may still have the transaction prepared on this node: that is waited for, too, and
 * what was found out before is found out again.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/catalog.h"
#include "pando/ddl/lead.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(lead_lock);
PG_FUNCTION_INFO_V1(lead_next_id);

/* ------------------------------------------------------------------------------------
 * On the coordinator
 */

static LOCKMODE
lock_mode(Datum number)
{
	LOCKMODE mode = DatumGetInt32(number);

	if (mode < AccessShareLock || mode > AccessExclusiveLock)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("there is no lock mode %d", mode)));
	return mode;
}

/*
 * pando.lead_lock(relations, modes, nowait): locks them, in that order; one that isn't
 * there has been dropped meanwhile, which the leading node finds out by itself.
 */
Datum
lead_lock(PG_FUNCTION_ARGS)
{
	Datum *names;
	Datum *modes;
	int count;
	int nmodes;
	int flags = RVR_MISSING_OK | (PG_GETARG_BOOL(2) ? RVR_NOWAIT : 0);

	xact_require_node("pando.lead_lock()");
	node_require_coordinator();
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &names,
					  NULL, &count);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), INT4OID, sizeof(int32), true,
					  TYPALIGN_INT, &modes, NULL, &nmodes);
	if (count != nmodes)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
						errmsg("%d relations but %d lock modes", count, nmodes)));
	for (int i = 0; i < count; i++)
		(void) RangeVarGetRelidExtended(
			makeRangeVarFromNameList(textToQualifiedNameList(DatumGetTextPP(names[i]))),
			lock_mode(modes[i]), flags, NULL, NULL);
	PG_RETURN_VOID();
}

/* pando.lead_next_id(sequence): the next id of one of the extension's sequences. */
Datum
lead_next_id(PG_FUNCTION_ARGS)
{
	xact_require_node("pando.lead_next_id()");
	node_require_coordinator();
	PG_RETURN_INT64(catalog_nextval(text_to_cstring(PG_GETARG_TEXT_PP(0))));
}

/* ------------------------------------------------------------------------------------
 * On the node that leads
 */

static bool
next_id(const char *sequence, int64 *id)
{
	char *value;

	if (node_is_coordinator())
		return false;
	value = xact_value_told(
		node_by_group(COORDINATOR_GROUP),
		psprintf("SELECT pando.lead_next_id(%s)", quote_literal_cstr(sequence)));
	*id = DatumGetInt64(DirectFunctionCall1(int8in, CStringGetDatum(value)));
	return true;
}

/* What has committed on the coordinator may be prepared here. */
static void
await_prepared(void)
{
	foreach_ptr (char, xid,
				 sql_column("SELECT transaction FROM pg_catalog.pg_prepared_xacts "
							"WHERE database = pg_catalog.current_database() AND "
							"gid LIKE 'citus\\_%%'"))
		XactLockTableWait((TransactionId) strtoul(xid, NULL, 10), NULL, NULL, XLTW_None);
	AcceptInvalidationMessages();
}

/* Relations that are to be locked on the coordinator, by name, and how. */
typedef struct Locks
{
	StringInfoData names;
	StringInfoData modes;
} Locks;

static void
add_lock(Locks *locks, const char *name, LOCKMODE mode)
{
	const char *separator = ", ";

	if (locks->names.data == NULL)
	{
		initStringInfo(&locks->names);
		initStringInfo(&locks->modes);
		separator = "";
	}
	appendStringInfo(&locks->names, "%s%s", separator, quote_literal_cstr(name));
	appendStringInfo(&locks->modes, "%s%d", separator, mode);
}

/* Afterwards what has committed on the coordinator is seen here, too. */
static void
lock_there(const Locks *locks, bool nowait)
{
	if (locks->names.data != NULL)
		xact_tell_nodes(list_make1((void *) node_by_group(COORDINATOR_GROUP)),
						psprintf("SELECT pando.lead_lock(ARRAY[%s], ARRAY[%s], %s)",
								 locks->names.data, locks->modes.data,
								 nowait ? "true" : "false"));
	await_prepared();
}

/*
 * The strongest lock that PostgreSQL takes on a table for the statement. None where the
 * nodes' work outside the transaction would wait for us.
 */
static LOCKMODE
lock_of(const DdlJob *job)
{
	if (job->outside)
		return NoLock;
	switch (nodeTag(job->stmt))
	{
		case T_AlterTableStmt:
			return AlterTableGetLockLevel(((AlterTableStmt *) job->stmt)->cmds);
		case T_IndexStmt:
		case T_ReindexStmt:
			return ShareLock;
		case T_CreateTrigStmt:
			return ShareRowExclusiveLock;
		case T_LockStmt:
			return ((LockStmt *) job->stmt)->mode;
		case T_ConstraintsSetStmt:
			return NoLock;
		case T_CommentStmt:
		case T_SecLabelStmt:
		case T_GrantStmt:
		case T_CreateStatsStmt:
		case T_AlterStatsStmt:
			return ShareUpdateExclusiveLock;
		default:
			return AccessExclusiveLock;
	}
}

/* Does PostgreSQL let the user come as far as the lock? */
static bool
may_lock(const Node *stmt, Oid relid)
{
	return compat_owns_relation(relid, GetUserId()) ||
		   ((IsA(stmt, LockStmt) || IsA(stmt, TruncateStmt)) &&
			pg_class_aclcheck(relid, GetUserId(),
							  IsA(stmt, TruncateStmt) ? ACL_TRUNCATE
													  : ACL_UPDATE | ACL_DELETE |
															ACL_TRUNCATE) == ACLCHECK_OK);
}

void
lead_statement(const DdlJob *job)
{
	LOCKMODE mode = lock_of(job);
	Locks locks = {0};

	if (node_is_coordinator())
		return;
	foreach_oid(relid, job->tables)
	{
		/* Its rows are the coordinator's: PostgreSQL's own statement must be run there.
		 */
		if (dist_table_require(relid)->managed_local)
			node_require_coordinator();
		if (mode != NoLock && may_lock(job->stmt, relid))
			add_lock(&locks, name_qualified(relid), mode);
	}
	lock_there(&locks, IsA(job->stmt, LockStmt) && ((LockStmt *) job->stmt)->nowait);
}

void
lead_change(Oid relid)
{
	Locks locks = {0};

	if (node_is_coordinator())
		return;
	add_lock(&locks, "pg_catalog.pg_dist_node", RowShareLock);
	add_lock(&locks, "pg_catalog.pg_dist_colocation", ShareRowExclusiveLock);
	if (dist_table(relid) != NULL)
		add_lock(&locks, name_qualified(relid), AccessExclusiveLock);
	lock_there(&locks, false);
}

void
lead_init(void)
{
	catalog_set_ids_elsewhere(next_id);
}
