/*
 * group_lock.c: locks on the shell tables of a shard group, on all nodes, and on its
 * shards.
 *
 * Whoever waits for a strong lock holds up all who come later, so the switch of an online
 * move takes its locks in *attempts*: a subtransaction with a lock_timeout, here and on
 * the nodes, to which the setting travels. One that fails gives all of its locks back;
 * before the next one others have their turn, a longer one each time.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "pando/base/name.h"
#include "pando/base/nap.h"
#include "pando/base/subtransaction.h"
#include "pando/catalog/catalog.h"
#include "pando/cluster/group_lock.h"
#include "pando/ddl/lead.h"
#include "pando/metadata/node.h"
#include "pando/transaction/xact.h"

/* All that an attempt waits for locks, as long as each node has one to wait for. */
#define ATTEMPT_MS 700
#define MIN_LOCK_MS 20

/* Between attempts. */
#define FIRST_PAUSE_MS 500
#define MAX_PAUSE_MS 10000

/* For all attempts, where lock_timeout is not set. */
#define PATIENCE_MS (5 * 60 * 1000)

/* When the attempt under way gives up; 0: there is none. */
static TimestampTz attempt_ends = 0;

/* ------------------------------------------------------------------------------------
 * Locking.
 */

/* What is left of the attempt is the lock_timeout from here on. */
static void
limit_wait(void)
{
	long left;

	if (attempt_ends == 0)
		return;
	left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), attempt_ends);
	(void) set_config_option("lock_timeout", psprintf("%ld", Max(left, MIN_LOCK_MS)),
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

static const char *
mode_name(LOCKMODE mode)
{
	return mode == ExclusiveLock		 ? "EXCLUSIVE"
		   : mode == AccessExclusiveLock ? "ACCESS EXCLUSIVE"
										 : "SHARE UPDATE EXCLUSIVE";
}

static char *
lock_command(List *names, const char *mode)
{
	StringInfoData sql;
	const char *separator = "LOCK TABLE ";

	initStringInfo(&sql);
	foreach_ptr (char, name, names)
	{
		appendStringInfo(&sql, "%sONLY %s", separator, name);
		separator = ", ";
	}
	appendStringInfo(&sql, " IN %s MODE", mode);
	return sql.data;
}

void
group_lock_here(List *tables, LOCKMODE mode)
{
	int guc_level = NewGUCNestLevel();
	ListCell *cell;

	foreach (cell, tables)
	{
		limit_wait();
		LockRelationOid(lfirst_oid(cell), mode);
	}
	AcceptInvalidationMessages();
	AtEOXact_GUC(true, guc_level);
}

/* But for tables that were dropped while locks were waited for. */
static void
lock_on(List *nodes, List *tables, LOCKMODE mode)
{
	List *names = NIL;

	foreach_oid(relid, tables)
	{
		if (get_rel_name(relid) != NULL)
			names = lappend(names, name_qualified(relid));
	}
	limit_wait();
	if (names != NIL)
		xact_run_on_nodes(nodes, lock_command(names, mode_name(mode)));
}

void
group_lock(List *tables, LOCKMODE mode)
{
	int guc_level = NewGUCNestLevel();
	List *coordinator = NIL;
	List *others = NIL;

	foreach_ptr (DistNode, node, node_list(NODES_OTHER))
	{
		if (node->group == COORDINATOR_GROUP)
			coordinator = list_make1(node);
		else
			others = lappend(others, node);
	}
	lock_on(coordinator, tables, mode);
	group_lock_here(tables, mode);
	lock_on(others, tables, mode);
	AtEOXact_GUC(true, guc_level);
}

void
group_lock_colocation(void)
{
	int guc_level = NewGUCNestLevel();

	limit_wait();
	lead_catalog("pg_dist_colocation", ShareRowExclusiveLock);
	group_lock_here(list_make1_oid(catalog_oid("pg_dist_colocation")),
					ShareRowExclusiveLock);
	AtEOXact_GUC(true, guc_level);
}

void
group_lock_on_node(const DistNode *node, List *names, const char *mode)
{
	int guc_level = NewGUCNestLevel();

	if (names == NIL)
		return;
	limit_wait();
	xact_run_on_nodes(list_make1((void *) node), lock_command(names, mode));
	AtEOXact_GUC(true, guc_level);
}

/* ------------------------------------------------------------------------------------
 * Attempts.
 */

bool
group_lock_attempt(void (*step)(void *arg), void *arg)
{
	ErrorData *error;

	attempt_ends = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ATTEMPT_MS);
	error = subtransaction_try(step, arg, true);
	attempt_ends = 0;
	if (error == NULL)
		return true;
	/* Who waits for one that waits for it gives way, too. */
	if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
		error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
		ReThrowError(error);
	FreeErrorData(error);
	return false;
}

static void
pause_ms(long ms)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);

	while ((ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end)) > 0)
	{
		nap(ms);
	}
}

/* Who holds a lock on one of the tables, on whichever node, the strongest first; NULL if
 * nobody does. */
static char *
find_holder(List *tables)
{
	StringInfoData names;
	ListCell *cell;

	initStringInfo(&names);
	foreach (cell, tables)
		appendStringInfo(&names, "%spg_catalog.to_regclass(%s)",
						 names.len == 0 ? "" : ", ",
						 quote_literal_cstr(name_qualified(lfirst_oid(cell))));
	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		char *holder = xact_value_from_node(
			node,
			psprintf("SELECT coalesce('process ' || pid, 'a prepared transaction') || "
					 "' holds ' || mode || ' on table ' || relation::pg_catalog.regclass "
					 "FROM pg_catalog.pg_locks WHERE locktype = 'relation' AND granted "
					 "AND database = (SELECT d.oid FROM pg_catalog.pg_database d "
					 "WHERE datname = pg_catalog.current_database()) "
					 "AND relation = ANY (ARRAY[%s]::pg_catalog.oid[]) "
					 "AND pid IS DISTINCT FROM pg_catalog.pg_backend_pid() "
					 "ORDER BY mode = 'AccessShareLock', pid LIMIT 1",
					 names.data));

		if (holder != NULL)
			return psprintf("On node %s:%d %s.", node->host, node->port, holder);
	}
	return NULL;
}

void
group_lock_raise(List *tables)
{
	char *holder = find_holder(tables);

	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not lock %s%s for long enough to move shards",
					list_length(tables) == 1 ? "table " : "the tables colocated with ",
					name_qualified(linitial_oid(tables))),
			 holder == NULL ? 0 : errdetail("%s", holder),
			 errhint("Try again when transactions that use it are over, or end them by "
					 "pg_terminate_backend(). A larger lock_timeout tries for longer.")));
}

TimestampTz
group_lock_patience(long otherwise)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									   LockTimeout > 0 ? LockTimeout : otherwise);
}

void
group_lock_for(List *tables, void (*prepare)(void *arg), void (*step)(void *arg),
			   void *arg)
{
	TimestampTz end = group_lock_patience(PATIENCE_MS);
	long pause = FIRST_PAUSE_MS;

	while (!group_lock_attempt(step, arg))
	{
		long left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);

		if (left <= 0)
			group_lock_raise(tables);
		pause_ms(Min(pause, left));
		pause = Min(pause * 2, MAX_PAUSE_MS);
		prepare(arg);
	}
}
