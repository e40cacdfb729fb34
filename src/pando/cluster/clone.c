/*
 * clone.c: a streaming replica of a worker becomes a worker of its own, with part of the
 * shards, without a row going over the network.
 *
 * A *clone* is such a replica, in pg_dist_node with a group of its own, not active, and
 * with nodeisclone and nodeprimarynodeid set. Promotion: writers wait, on all nodes; the
 * replica gets the last of the primary's WAL and is promoted; then, in one distributed
 * transaction, it becomes a primary, the placements of half of the primary's shard groups
 * become its own, and either server drops what the other has got.
 *
 * pg_promote() can't be taken back: when the transaction fails after it, the server is a
 * node no more and has to be made anew; the cluster is as it was. That is why everything
 * is checked before.
 *
 * The clone has the primary's group until it is told its own. It would settle
 * transactions that the primary has begun; there are none: writers of all distributed
 * tables wait, and what creates objects on all nodes waits for pg_dist_node.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/base/nap.h"
#include "pando/base/sql.h"
#include "pando/catalog/placement.h"
#include "pando/cluster/node_check.h"
#include "pando/cluster/node_lock.h"
#include "pando/cluster/node_row.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(citus_add_clone_node);
PG_FUNCTION_INFO_V1(citus_add_clone_node_with_nodeid);
PG_FUNCTION_INFO_V1(citus_remove_clone_node);
PG_FUNCTION_INFO_V1(citus_remove_clone_node_with_nodeid);
PG_FUNCTION_INFO_V1(citus_promote_clone_and_rebalance);

#define PROMOTE_SECONDS 60
#define NAP_MS 50

static ClusterNode *
require_node(int32 id)
{
	ClusterNode *row = node_row_find_id(id);

	if (row == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("node %d does not exist", id)));
	return row;
}

static void
require_clone(const ClusterNode *row)
{
	if (!row->node.is_clone)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("node %s:%d is not a clone", row->node.host, row->node.port),
				 errhint("Clones are added with citus_add_clone_node().")));
}

/* Raises unless the primary can have a clone. */
static void
require_primary(const ClusterNode *primary)
{
	if (!primary->node.primary || !primary->node.active)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("node %s:%d is not an active primary", primary->node.host,
							   primary->node.port)));
	if (primary->node.group == COORDINATOR_GROUP)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("the coordinator cannot have a clone"),
						errhint("Move its shards to a worker first.")));
}

/* Raises unless the server is there, and a replica of the primary. */
static void
require_replica(const DistNode *clone, const DistNode *primary)
{
	if (!node_is_reachable(clone))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("node %s:%d cannot be reached", clone->host, clone->port)));
	node_check_replica(clone, primary);
}

/* ------------------------------------------------------------------------------------
 * Adding and removing.
 */

static int32
add_clone(const char *host, int port, const ClusterNode *primary)
{
	ClusterNode *row = node_row_find(host, port, false);

	require_primary(primary);
	if (row != NULL && row->node.is_clone && row->node.primary_id == primary->node.id)
		return row->node.id;
	if (row != NULL)
		ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
						errmsg("%s:%d is already node %d", host, port, row->node.id)));
	row = palloc0(sizeof(ClusterNode));
	row->node.host = pstrdup(host);
	row->node.port = port;
	row->node.group = -1;
	row->node.rack = primary->node.rack;
	row->node.cluster = primary->node.cluster;
	row->node.is_clone = true;
	row->node.primary_id = primary->node.id;
	row->role = "secondary";
	require_replica(&row->node, &primary->node);
	node_row_insert(row);
	return row->node.id;
}

static void
begin_change(void)
{
	node_rows_require_admin();
	node_rows_lead(ExclusiveLock);
}

/* citus_add_clone_node(host, port, host and port of the primary) */
Datum
citus_add_clone_node(PG_FUNCTION_ARGS)
{
	begin_change();
	PG_RETURN_INT32(add_clone(
		text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1),
		node_row_find(text_to_cstring(PG_GETARG_TEXT_PP(2)), PG_GETARG_INT32(3), true)));
}

/* citus_add_clone_node_with_nodeid(host, port, id of the primary) */
Datum
citus_add_clone_node_with_nodeid(PG_FUNCTION_ARGS)
{
	begin_change();
	PG_RETURN_INT32(add_clone(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1),
							  require_node(PG_GETARG_INT32(2))));
}

/* citus_remove_clone_node(host, port) */
Datum
citus_remove_clone_node(PG_FUNCTION_ARGS)
{
	ClusterNode *row;

	begin_change();
	row = node_row_find(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1), true);
	require_clone(row);
	node_row_delete(row->node.id);
	PG_RETURN_VOID();
}

/* citus_remove_clone_node_with_nodeid(id) */
Datum
citus_remove_clone_node_with_nodeid(PG_FUNCTION_ARGS)
{
	ClusterNode *row;

	begin_change();
	row = require_node(PG_GETARG_INT32(0));
	require_clone(row);
	node_row_delete(row->node.id);
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Promotion.
 */

static char *
require_answer(const DistNode *node, const char *sql)
{
	char *answer = node_probe(node, sql);

	if (answer == NULL)
		ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
						errmsg("node %s:%d does not answer", node->host, node->port)));
	return answer;
}

/* Until the node answers "t"; raises when the time is over. */
static void
await(const DistNode *node, const char *sql, TimestampTz end, const char *what)
{
	while (strcmp(require_answer(node, sql), "t") != 0)
	{
		if (GetCurrentTimestamp() >= end)
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("node %s:%d %s in time", node->host, node->port, what),
							errdetail("catchup_timeout_seconds is over."),
							errhint("Run it again, with more time.")));
		nap(NAP_MS);
	}
}

/* Until the clone has all that the primary has written so far. */
static void
await_catch_up(const DistNode *primary, const DistNode *clone, TimestampTz end)
{
	char *written =
		require_answer(primary, "SELECT pg_catalog.pg_current_wal_flush_lsn()");

	await(clone,
		  psprintf("SELECT coalesce(pg_catalog.pg_last_wal_replay_lsn() >= %s, false)",
				   quote_literal_cstr(written)),
		  end, "does not catch up with its primary");
}

/* Makes the server one that accepts writes; there is no way back. */
static void
promote(const DistNode *clone)
{
	char *promoted = require_answer(
		clone, psprintf("SELECT pg_catalog.pg_promote(true, %d)", PROMOTE_SECONDS));

	if (strcmp(promoted, "t") != 0 || !node_accepts_writes(clone))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node %s:%d was not promoted in time", clone->host, clone->port),
				 errhint("Remove it with citus_remove_clone_node() and make a new "
						 "replica: it may be promoted yet.")));
}

/* It is a primary from here on, on all nodes, and knows so. */
static const DistNode *
become_member(const DistNode *clone, const DistNode *primary)
{
	char *assignments =
		psprintf("noderole = 'primary', isactive = true, hasmetadata = true, "
				 "metadatasynced = true, nodeisclone = false, nodeprimarynodeid = 0, "
				 "shouldhaveshards = %s",
				 primary->should_have_shards ? "true" : "false");
	const DistNode *member;

	node_row_update(clone->id, assignments);
	member = node_by_id(clone->id);
	xact_run_each(
		list_make1((void *) member),
		list_make1(psprintf(
			"UPDATE pg_catalog.pg_dist_node SET %s WHERE nodeid = %d; "
			"UPDATE pg_catalog.pg_dist_local_group SET groupid = %d; "
			"DELETE FROM pg_catalog.pg_dist_transaction; "
			"SELECT pando.nodes_changed(); "
			"SELECT pando.sequence_adjust(s.seqrelid) FROM pg_catalog.pg_sequence s "
			"WHERE s.seqmin = (%d::bigint << 48) + 1 "
			"AND s.seqmax = ((%d::bigint + 1) << 48) - 1",
			assignments, clone->id, member->group, primary->group, primary->group)));
	return member;
}

static char *
comma_list(List *numbers)
{
	StringInfoData text;

	initStringInfo(&text);
	foreach_ptr (char, number, numbers)
		appendStringInfo(&text, "%s%s", text.len > 0 ? "," : "", number);
	return text.data;
}

/* Placements of these shards go from the primary to the clone, and reference tables,
 * which it has, get one there. */
static void
change_placements(const DistNode *primary, const DistNode *clone, List *shards)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql,
					 "UPDATE pg_catalog.pg_dist_placement SET groupid = %d "
					 "WHERE groupid = %d AND shardid = ANY('{%s}'); ",
					 clone->group, primary->group, comma_list(shards));
	foreach_ptr (
		char, shard,
		sql_column("SELECT s.shardid FROM pg_catalog.pg_dist_shard s "
				   "JOIN pg_catalog.pg_dist_partition t ON t.logicalrelid = "
				   "s.logicalrelid AND t.repmodel = 't' "
				   "JOIN pg_catalog.pg_dist_placement p ON p.shardid = s.shardid AND "
				   "p.groupid = %d AND p.shardstate = 1 ORDER BY 1",
				   primary->group))
	{
		appendStringInfo(
			&sql,
			"INSERT INTO pg_catalog.pg_dist_placement (placementid, shardid, shardstate, "
			"shardlength, groupid) VALUES (%lld, %s, 1, 0, %d); ",
			(long long) catalog_placement_next_id(), shard, clone->group);
	}
	appendStringInfoString(&sql, "SELECT pando.metadata_changed()");
	node_run_everywhere(sql.data);
}

/* Commands that drop what has no placement on the node any more, of these shards. */
static char *
drop_commands(List *shards)
{
	return shards == NIL
			   ? NULL
			   : sql_value("SELECT string_agg(pg_catalog.format('SELECT "
						   "pando.shards_drop(%%L::pg_catalog.regclass, %%L)', t, ids), "
						   "'; ') FROM (SELECT logicalrelid::pg_catalog.text AS t, "
						   "array_agg(shardid) AS ids FROM pg_catalog.pg_dist_shard "
						   "WHERE shardid = ANY('{%s}') GROUP BY logicalrelid) d",
						   comma_list(shards));
}

static void
drop_on(const DistNode *node, List *shards)
{
	char *commands = drop_commands(shards);

	if (commands != NULL)
		xact_run_each(list_make1((void *) node), list_make1(commands));
}

/* Shards that have rows on the primary's server, by who is to have them. */
static List *
planned_shards(const DistNode *primary, const DistNode *clone, const char *strategy,
			   bool for_clone)
{
	return sql_column(
		"SELECT p.shardid FROM pg_catalog.get_snapshot_based_node_split_plan(%s, %d, %s, "
		"%d, %s) p WHERE p.placement_node = pg_catalog.concat(%s::text, ':', %d) ORDER "
		"BY 1",
		quote_literal_cstr(primary->host), primary->port, quote_literal_cstr(clone->host),
		clone->port, strategy == NULL ? "NULL" : quote_literal_cstr(strategy),
		quote_literal_cstr(for_clone ? clone->host : primary->host),
		for_clone ? clone->port : primary->port);
}

/* citus_promote_clone_and_rebalance(id, strategy, catchup_timeout_seconds) */
Datum
citus_promote_clone_and_rebalance(PG_FUNCTION_ARGS)
{
	const char *strategy = PG_ARGISNULL(1) ? NULL : NameStr(*PG_GETARG_NAME(1));
	ClusterNode *clone;
	ClusterNode *primary;
	TimestampTz end;
	List *relids;
	List *theirs;
	List *ours;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2) || PG_GETARG_INT32(2) <= 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("clone_nodeid and a positive catchup_timeout_seconds are "
							   "needed")));
	if (IsTransactionBlock())
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("a clone cannot be promoted in a transaction block"),
						errdetail("Its promotion can't be taken back.")));
	node_require_coordinator();
	begin_change();
	clone = require_node(PG_GETARG_INT32(0));
	require_clone(clone);
	primary = require_node(clone->node.primary_id);
	require_primary(primary);
	require_replica(&clone->node, &primary->node);
	end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									  PG_GETARG_INT32(2) * INT64CONST(1000));

	/* First without anybody waiting. */
	await_catch_up(&primary->node, &clone->node, end);
	relids = node_lock_definitions();
	node_lock_tables_everywhere(relids, ExclusiveLock, NULL);
	theirs = planned_shards(&primary->node, &clone->node, strategy, true);
	ours = planned_shards(&primary->node, &clone->node, strategy, false);
	await(&primary->node,
		  "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_prepared_xacts WHERE database = "
		  "pg_catalog.current_database())",
		  end, "does not settle its prepared transactions");
	await_catch_up(&primary->node, &clone->node, end);
	DEBUG_POINT("clone-before-promote");
	promote(&clone->node);
	DEBUG_POINT("clone-after-promote");

	node_lock_tables_everywhere(relids, AccessExclusiveLock, NULL);
	{
		const DistNode *member = become_member(&clone->node, &primary->node);

		change_placements(&primary->node, member, theirs);
		drop_on(&primary->node, theirs);
		drop_on(member, ours);
	}
	PG_RETURN_VOID();
}
