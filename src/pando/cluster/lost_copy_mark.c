/*
 * lost_copy_mark.c: copies of shards that are marked as lost, and nodes that missed it.
 *
 * Who finds a copy out of reach (executor/lost_copy.h) has every reachable node run
 * pando.copies_lost(). A node that could not be told is brought up to date by the
 * coordinator's maintenance worker when it is back.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/placement.h"
#include "pando/cluster/lost_copy_mark.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/maintenance.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(copies_lost);

/* citus.metadata_sync_retry_interval, in ms */
static int retry_interval = 5000;

/* An array argument as the text of a literal. */
static char *
array_text(FunctionCallInfo fcinfo, int argument, Oid type)
{
	Oid output;
	bool varlena;

	getTypeOutputInfo(type, &output, &varlena);
	return quote_literal_cstr(OidOutputFunctionCall(output, PG_GETARG_DATUM(argument)));
}

/*
 * pando.copies_lost(shards, groups, unreached): marks the shards' copies in the groups.
 * Raises where that would leave a shard without a copy, which the coordinator alone knows
 * for sure: it is asked first, and the row locks that it takes stay to the end.
 */
Datum
copies_lost(PG_FUNCTION_ARGS)
{
	char *shards = array_text(fcinfo, 0, INT8ARRAYOID);
	char *groups = array_text(fcinfo, 1, INT4ARRAYOID);
	char *unreached = array_text(fcinfo, 2, INT4ARRAYOID);
	OwnerScope scope;
	char *last;

	xact_require_node("pando.copies_lost()");
	owner_enter(&scope);
	sql_run("SELECT FROM pg_catalog.pg_dist_placement WHERE shardid = ANY (%s) "
			"ORDER BY placementid FOR UPDATE",
			shards);
	last = sql_value(
		"SELECT shardid FROM pg_catalog.pg_dist_placement WHERE shardid = ANY (%s) "
		"GROUP BY shardid HAVING bool_or(groupid = ANY (%s)) AND NOT "
		"bool_or(shardstate = %d AND groupid <> ALL (%s)) LIMIT 1",
		shards, groups, PLACEMENT_ACTIVE, groups);
	if (last != NULL)
		ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
						errmsg("no copy of shard %s can be reached", last)));
	sql_run("UPDATE pg_catalog.pg_dist_placement SET shardstate = %d "
			"WHERE shardid = ANY (%s) AND groupid = ANY (%s) AND shardstate = %d",
			PLACEMENT_LOST, shards, groups, PLACEMENT_ACTIVE);
	sql_run("UPDATE pg_catalog.pg_dist_node SET metadatasynced = false "
			"WHERE groupid = ANY (%s) AND noderole = 'primary' AND metadatasynced",
			unreached);
	owner_leave(&scope);
	PG_RETURN_VOID();
}

static int
sync_interval(void)
{
	return retry_interval;
}

/* Brings nodes that can be reached again up to date. */
static void
sync_nodes(void)
{
	if (!metadata_active() || !node_is_coordinator())
		return;
	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
	{
		char *address = psprintf("%s, %d", quote_literal_cstr(node->host), node->port);
		char *reached;

		if (node->metadata_synced)
			continue;
		reached =
			sql_value("SELECT pg_catalog.citus_check_connection_to_node(%s)", address);
		if (reached == NULL || strcmp(reached, "t") != 0)
			continue;
		sql_run("SELECT pg_catalog.start_metadata_sync_to_node(%s)", address);
		ereport(LOG, (errmsg("node %s:%d knows again which copies of shards are lost",
							 node->host, node->port)));
		return; /* the list of nodes has changed */
	}
}

static const MaintenanceJob sync_job = {
	.name = "metadata synchronisation", .interval = sync_interval, .run = sync_nodes};

void
lost_copy_mark_init(void)
{
	DefineCustomIntVariable(
		"citus.metadata_sync_retry_interval",
		"Time between attempts to bring a node's metadata up to date.", NULL,
		&retry_interval, 5000, 1, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	maintenance_register(&sync_job);
}
