/*
 * node_functions.c: the SQL functions that change the nodes of the cluster.
 *
 * Each runs as superuser, in the caller's transaction: it locks the list of nodes, first
 * on the coordinator, changes the rows on all nodes (node_row.h) and brings what a new
 * member needs (node_sync.h). An error anywhere undoes all of it on all nodes. A call
 * that is its own transaction runs on the coordinator, others on the client's node, which
 * can't bring a new member what it needs, nor take itself away.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/base/sql.h"
#include "pando/cluster/group_copy.h"
#include "pando/cluster/move.h"
#include "pando/cluster/node_check.h"
#include "pando/cluster/node_lock.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/node_sync.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(citus_set_coordinator_host);
PG_FUNCTION_INFO_V1(citus_add_node);
PG_FUNCTION_INFO_V1(citus_add_inactive_node);
PG_FUNCTION_INFO_V1(citus_activate_node);
PG_FUNCTION_INFO_V1(citus_disable_node);
PG_FUNCTION_INFO_V1(citus_remove_node);
PG_FUNCTION_INFO_V1(citus_update_node);
PG_FUNCTION_INFO_V1(citus_set_node_property);
PG_FUNCTION_INFO_V1(citus_add_secondary_node);
PG_FUNCTION_INFO_V1(start_metadata_sync_to_node);
PG_FUNCTION_INFO_V1(start_metadata_sync_to_all_nodes);
PG_FUNCTION_INFO_V1(stop_metadata_sync_to_node);
PG_FUNCTION_INFO_V1(nodes_changed);
PG_FUNCTION_INFO_V1(citus_pause_node_within_txn);

/* pando.nodes_changed(): this server's backends reload their nodes. */
Datum
nodes_changed(PG_FUNCTION_ARGS)
{
	CommandCounterIncrement();
	node_invalidate();
	PG_RETURN_VOID();
}

/* What every function here does first. */
static void
begin_change(void)
{
	node_rows_require_admin();
	node_rows_lead(ExclusiveLock);
}

/* Of functions that bring a node what the others have, which the coordinator has. Returns
 * whether others see all that is to be brought. */
static bool
begin_bringing(void)
{
	bool seen;

	node_rows_require_admin();
	node_require_coordinator();
	seen = group_copy_hidden() == NULL;
	node_rows_lock(ExclusiveLock);
	return seen;
}

static char *
text_argument(FunctionCallInfo fcinfo, int number)
{
	return text_to_cstring(PG_GETARG_TEXT_PP(number));
}

static void
check_address(const char *host, int port)
{
	if (host[0] == '\0')
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("host name of a node must not be empty")));
	if (port < 1 || port > 65535)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("port %d is outside the valid range of 1 to 65535", port)));
}

static char *
role_label(Oid role)
{
	return sql_value("SELECT enumlabel FROM pg_catalog.pg_enum WHERE oid = %u", role);
}

/* Does the host name mean "this very machine"? */
static bool
host_is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
		   strncmp(host, "127.", 4) == 0 || host[0] == '/';
}

/* Nodes connect to the coordinator too: an address that only it understands won't do. */
static void
warn_if_coordinator_is_loopback(const DistNode *added)
{
	ClusterNode *coordinator = node_row_find_primary(COORDINATOR_GROUP);

	if (coordinator == NULL || host_is_loopback(added->host) ||
		!host_is_loopback(coordinator->node.host))
		return;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("the coordinator is registered as \"%s\", which other hosts cannot "
					"connect to",
					coordinator->node.host),
			 errhint("Set its address with citus_set_coordinator_host().")));
}

/* ------------------------------------------------------------------------------------
 * Adding
 */

/* Brings an inactive primary, whose row exists, into the cluster. */
static void
activate(ClusterNode *row, bool online)
{
	bool returning = node_check_fitness(&row->node);

	if (returning)
		node_forget(&row->node);
	/* Told before it becomes active, so that changes elsewhere do not reach it half made.
	 */
	node_row_update(row->node.id,
					"hasmetadata = true, metadatasynced = true, isactive = true");
	node_sync(node_by_id(row->node.id), true, online);
	warn_if_coordinator_is_loopback(&row->node);
}

static void
check_group_is_free(const DistNode *node)
{
	ClusterNode *primary = node->group >= 0 ? node_row_find_primary(node->group) : NULL;

	if (primary != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("group %d already has a primary node", node->group),
				 errdetail("It is %s:%d.", primary->node.host, primary->node.port)));
}

/*
 * The coordinator under the address by which others reach it. One that comes back gets
 * copies of reference tables, while their writers wait: an online copy that is filled in
 * this transaction is one on another node.
 */
static int32
set_coordinator(const char *host, int port)
{
	ClusterNode *row = node_row_find_primary(COORDINATOR_GROUP);
	ClusterNode *same = node_row_find(host, port, false);

	if (same != NULL && (row == NULL || same->node.id != row->node.id))
		ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
						errmsg("%s:%d is already a node of group %d", host, port,
							   same->node.group)));
	if (row != NULL)
		node_row_update(row->node.id, psprintf("nodename = %s, nodeport = %d",
											   quote_literal_cstr(host), port));
	else
	{
		row = palloc0(sizeof(ClusterNode));
		row->node.group = COORDINATOR_GROUP;
		row->node.host = pstrdup(host);
		row->node.port = port;
		row->node.has_metadata = row->node.metadata_synced = row->node.active = true;
		row->node.cluster = "default";
		row->role = NODE_ROLE_PRIMARY;
		node_row_insert(row);
		reference_tables_bring(node_by_id(row->node.id), false);
	}
	return row->node.id;
}

/* citus_set_coordinator_host(host, port, role, cluster) */
Datum
citus_set_coordinator_host(PG_FUNCTION_ARGS)
{
	char *host = text_argument(fcinfo, 0);
	int port = PG_GETARG_INT32(1);

	begin_change();
	check_address(host, port);
	if (strcmp(role_label(PG_GETARG_OID(2)), NODE_ROLE_PRIMARY) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the coordinator must be a primary node")));
	set_coordinator(host, port);
	PG_RETURN_VOID();
}

/* Adds the row of a node as inactive; NULL arguments have been refused (STRICT). */
static ClusterNode *
add_row(FunctionCallInfo fcinfo, const char *host, int port)
{
	ClusterNode *row = palloc0(sizeof(ClusterNode));

	row->node.host = pstrdup(host);
	row->node.port = port;
	row->node.group = PG_GETARG_INT32(2);
	row->role = role_label(PG_GETARG_OID(3));
	row->node.primary = strcmp(row->role, NODE_ROLE_PRIMARY) == 0;
	row->node.cluster = NameStr(*PG_GETARG_NAME(4));
	row->node.should_have_shards = true;
	if (row->node.primary)
		check_group_is_free(&row->node);
	else if (row->node.group < 0 || node_row_find_primary(row->node.group) == NULL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("a node that is not a primary needs the group of one"),
						errhint("Use citus_add_secondary_node().")));
	else
		row->node.active = true;

	node_row_ensure_coordinator(false);
	node_row_insert(row);
	return row;
}

static int32
add_node(FunctionCallInfo fcinfo, bool activated)
{
	char *host = text_argument(fcinfo, 0);
	int port = PG_GETARG_INT32(1);
	ClusterNode *row;
	bool online = false;

	if (activated)
		online = begin_bringing();
	else
		begin_change();
	check_address(host, port);
	row = node_row_find(host, port, false);
	if (row != NULL)
	{
		if (PG_GETARG_INT32(2) >= 0 && PG_GETARG_INT32(2) != row->node.group)
			ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
							errmsg("%s:%d is already a node of group %d", host, port,
								   row->node.group)));
		return row->node.id;
	}
	if (PG_GETARG_INT32(2) == COORDINATOR_GROUP &&
		strcmp(role_label(PG_GETARG_OID(3)), NODE_ROLE_PRIMARY) == 0)
	{
		DistNode coordinator = {.group = COORDINATOR_GROUP};

		check_group_is_free(&coordinator);
		return set_coordinator(host, port);
	}
	row = add_row(fcinfo, host, port);
	if (activated && row->node.primary)
		activate(row, online);
	return row->node.id;
}

/* citus_add_node(host, port, group, role, cluster) */
Datum
citus_add_node(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(add_node(fcinfo, true));
}

/* citus_add_inactive_node(host, port, group, role, cluster): no connection is made. */
Datum
citus_add_inactive_node(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(add_node(fcinfo, false));
}

/* citus_activate_node(host, port) */
Datum
citus_activate_node(PG_FUNCTION_ARGS)
{
	bool online = begin_bringing();
	ClusterNode *row = node_row_find(text_argument(fcinfo, 0), PG_GETARG_INT32(1), true);

	if (row->node.is_clone)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("node %s:%d is a clone", row->node.host, row->node.port),
						errhint("Use citus_promote_clone_and_rebalance().")));
	if (!row->node.active && row->node.primary)
		activate(row, online);
	else if (!row->node.active)
		node_row_update(row->node.id, "isactive = true");
	PG_RETURN_INT32(row->node.id);
}

/* citus_add_secondary_node(host, port, primary host, primary port, cluster) */
Datum
citus_add_secondary_node(PG_FUNCTION_ARGS)
{
	char *host = text_argument(fcinfo, 0);
	int port = PG_GETARG_INT32(1);
	ClusterNode *row;
	ClusterNode *primary;

	begin_change();
	check_address(host, port);
	row = node_row_find(host, port, false);
	if (row != NULL)
		PG_RETURN_INT32(row->node.id);
	primary = node_row_find(text_argument(fcinfo, 2), PG_GETARG_INT32(3), true);
	if (!primary->node.primary)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("node %s:%d is not a primary", primary->node.host,
							   primary->node.port)));
	row = palloc0(sizeof(ClusterNode));
	*row = *primary;
	row->node.primary = false;
	row->node.host = host;
	row->node.port = port;
	row->node.active = true;
	row->node.cluster = NameStr(*PG_GETARG_NAME(4));
	row->role = "secondary";
	node_check_replica(&row->node, &primary->node);
	node_row_insert(row);
	PG_RETURN_INT32(row->node.id);
}

/* ------------------------------------------------------------------------------------
 * Leaving
 */

static void
require_not_coordinator(const DistNode *node, const char *what)
{
	if (node->primary && node->group == COORDINATOR_GROUP)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot %s the coordinator", what),
						errdetail("Every other node needs it.")));
}

static void
require_not_here(const DistNode *node, const char *what)
{
	if (node->group == node_local_group() && !node_is_coordinator())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot %s the node of the client within a transaction", what),
				 errdetail("It takes part in the transaction."),
				 errhint("Run it as a statement of its own, or on another node.")));
}

/* A node that is gone for good must not keep the cluster from going on without it. */
static void
forget_node(const DistNode *node)
{
	bool reachable = node->active && node_is_reachable(node);

	node_lock_for_leaving(node, reachable);
	node_require_no_only_placement(node, "remove");
	if (reachable)
		node_forget(node);
	else if (node->active)
		ereport(WARNING,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("node %s:%d cannot be reached and keeps its metadata", node->host,
						node->port),
				 errhint("If it comes back, adding it again replaces what it has.")));
}

/*
 * The coordinator goes on leading the others, and keeps all metadata; but it has no
 * shards any more, and they can't call it. The only node of a cluster may go, if it holds
 * nothing.
 */
static void
coordinator_leave(const DistNode *node)
{
	if (!node_is_coordinator())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot remove the coordinator in a transaction of another node"),
				 errdetail("The transaction needs it."),
				 errhint("Run it as a statement of its own, or on the coordinator.")));
	if (node_list(NODES_OTHER) != NIL)
	{
		node_lock_for_leaving(node, true);
		node_require_no_only_placement(node, "remove");
		node_drop_shards_here();
	}
	else if (sql_value("SELECT 1 FROM pg_catalog.pg_dist_partition") != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot remove the coordinator while it holds the cluster's "
						"tables"),
				 errhint("Undistribute or drop them first.")));
}

/* citus_remove_node(host, port) */
Datum
citus_remove_node(PG_FUNCTION_ARGS)
{
	ClusterNode *row;

	begin_change();
	row = node_row_find(text_argument(fcinfo, 0), PG_GETARG_INT32(1), true);
	if (!row->node.primary)
	{
		node_row_delete(row->node.id);
		PG_RETURN_VOID();
	}
	require_not_here(&row->node, "remove");
	node_require_no_only_placement(&row->node, "remove");
	if (sql_value("SELECT 1 FROM pg_catalog.pg_dist_node WHERE (groupid = %d OR "
				  "nodeprimarynodeid = %d) AND nodeid <> %d",
				  row->node.group, row->node.id, row->node.id) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot remove node %s:%d because it has secondaries or clones",
						row->node.host, row->node.port),
				 errhint("Remove those first.")));
	if (row->node.group == COORDINATOR_GROUP)
		coordinator_leave(&row->node);
	else
		forget_node(&row->node);
	node_row_delete(row->node.id);
	node_forget_placements(row->node.group);
	PG_RETURN_VOID();
}

/*
 * citus_disable_node(host, port, synchronous): the node is told nothing, since it usually
 * is the broken one. Its copies get stale from here on and are forgotten.
 */
Datum
citus_disable_node(PG_FUNCTION_ARGS)
{
	ClusterNode *row;

	begin_change();
	row = node_row_find(text_argument(fcinfo, 0), PG_GETARG_INT32(1), true);
	require_not_coordinator(&row->node, "disable");
	require_not_here(&row->node, "disable");
	if (!row->node.active)
		PG_RETURN_VOID();
	if (row->node.primary)
		node_require_no_only_placement(&row->node, "disable");

	if (row->node.primary)
	{
		node_lock_for_leaving(&row->node, false);
		node_require_no_only_placement(&row->node, "disable");
	}
	/* The list without the node first, so that nothing below is sent to it. */
	sql_run("UPDATE pg_catalog.pg_dist_node SET isactive = false, metadatasynced = false "
			"WHERE nodeid = %d",
			row->node.id);
	CommandCounterIncrement();
	node_invalidate();
	node_row_update(row->node.id, "isactive = false, metadatasynced = false");
	if (row->node.primary)
		node_forget_placements(row->node.group);
	PG_RETURN_VOID();
}

/*
 * citus_pause_node_within_txn(id, force, lock_cooldown): until the transaction ends
 * nobody reads or changes tables that have shards on the node, nor writes reference
 * tables. With `force` who is using them has lock_cooldown ms to end, and is ended then.
 */
Datum
citus_pause_node_within_txn(PG_FUNCTION_ARGS)
{
	ClusterNode *row;

	if (PG_GETARG_INT32(2) < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("lock_cooldown must not be negative")));
	begin_change();
	row = node_row_find_id(PG_GETARG_INT32(0));
	if (row == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("node %d does not exist", PG_GETARG_INT32(0))));
	if (PG_GETARG_BOOL(1))
		node_lock_by_force(&row->node, node_is_reachable(&row->node), PG_GETARG_INT32(2));
	else
		node_lock_for_leaving(&row->node, node_is_reachable(&row->node));
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Changing
 */

/* Raises unless the node may have the address: nobody has it, or who is to take its place
 * has. */
static void
check_address_is_free(const ClusterNode *row, const ClusterNode *same)
{
	bool replaces =
		row->node.primary && !same->node.primary && row->node.group == same->node.group;

	if (!replaces)
		ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
						errmsg("%s:%d is already node %d", same->node.host,
							   same->node.port, same->node.id)));
}

/*
 * citus_update_node(id, host, port, force, lock_cooldown): the same node under another
 * address, as after a failover. A secondary of its group that has the address changes
 * places with it. Nothing is waited for: a transaction that has written at the old
 * address can't commit any more. With `force` those that write when this begins have
 * lock_cooldown ms to end, and are ended then.
 */
Datum
citus_update_node(PG_FUNCTION_ARGS)
{
	char *host = text_argument(fcinfo, 1);
	int port = PG_GETARG_INT32(2);
	int cooldown = PG_GETARG_INT32(4);
	ClusterNode *row;
	ClusterNode *same;
	DistNode moved;
	bool told;

	begin_change();
	check_address(host, port);
	if (cooldown < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("lock_cooldown must not be negative")));
	row = node_row_find_id(PG_GETARG_INT32(0));
	if (row == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("node %d does not exist", PG_GETARG_INT32(0))));
	same = node_row_find(host, port, false);
	if (same != NULL && same->node.id == row->node.id)
		PG_RETURN_VOID();
	if (same != NULL)
		check_address_is_free(row, same);

	moved = row->node;
	moved.host = host;
	moved.port = port;
	if (moved.primary && moved.group != node_local_group())
		node_check_new_address(&moved);
	told = !moved.primary || !moved.active || moved.group == node_local_group() ||
		   node_accepts_writes(&moved);
	if (!told)
		ereport(WARNING, (errcode(ERRCODE_CONNECTION_FAILURE),
						  errmsg("node %s:%d does not accept writes yet", host, port),
						  errdetail("Its own metadata keeps its old address."),
						  errhint("Run start_metadata_sync_to_node() when it does.")));
	if (PG_GETARG_BOOL(3) && moved.primary)
		node_end_writers(&row->node, cooldown);
	node_row_move(row, host, port, same, told);
	PG_RETURN_VOID();
}

/* citus_set_node_property(host, port, property, value) */
Datum
citus_set_node_property(PG_FUNCTION_ARGS)
{
	char *property = text_argument(fcinfo, 2);
	ClusterNode *row;

	begin_change();
	if (pg_strcasecmp(property, "shouldhaveshards") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown property of a node: \"%s\"", property),
				 errhint("The property that can be set is \"shouldhaveshards\".")));
	row = node_row_find(text_argument(fcinfo, 0), PG_GETARG_INT32(1), true);
	node_row_update(row->node.id, PG_GETARG_BOOL(3) ? "shouldhaveshards = true"
													: "shouldhaveshards = false");
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Metadata
 */

static void
synchronise(ClusterNode *row)
{
	if (!row->node.active || !row->node.primary)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("node %s:%d is not an active primary", row->node.host,
							   row->node.port),
						errhint("Activate it with citus_activate_node().")));
	if (row->node.group == node_local_group())
		return;
	if (!row->node.metadata_synced || !row->node.has_metadata)
		node_row_update_except(row->node.id, "hasmetadata = true, metadatasynced = true");
	node_sync(node_by_id(row->node.id), false, false);
}

/* start_metadata_sync_to_node(host, port): brings an active node's metadata up to date.
 */
Datum
start_metadata_sync_to_node(PG_FUNCTION_ARGS)
{
	(void) begin_bringing();
	synchronise(node_row_find(text_argument(fcinfo, 0), PG_GETARG_INT32(1), true));
	PG_RETURN_VOID();
}

/* start_metadata_sync_to_all_nodes() */
Datum
start_metadata_sync_to_all_nodes(PG_FUNCTION_ARGS)
{
	(void) begin_bringing();
	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
	{
		synchronise(node_row_find_id(node->id));
	}
	PG_RETURN_BOOL(true);
}

/* stop_metadata_sync_to_node(host, port, clear_metadata) */
Datum
stop_metadata_sync_to_node(PG_FUNCTION_ARGS)
{
	ClusterNode *row;

	begin_change();
	row = node_row_find(text_argument(fcinfo, 0), PG_GETARG_INT32(1), true);
	require_not_coordinator(&row->node, "stop metadata synchronisation to");
	if (!row->node.active && row->node.primary)
		PG_RETURN_VOID();
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("an active node cannot be without metadata"),
			 errdetail(
				 "Every node of the cluster takes queries and keeps the same metadata."),
			 errhint("Use citus_disable_node() or citus_remove_node().")));
	PG_RETURN_VOID();
}
