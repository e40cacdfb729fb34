/*
 * node_row.c: changing rows of pg_dist_node, the same on all nodes in one transaction.
 *
 * The node that leads writes its own row first and then sends the same statement to all
 * other members, over the transaction's sessions; commit is two-phase.
 * Each statement ends with pando.nodes_changed(), which makes all backends of that server
 * read the rows anew.
 *
 * Locks: pg_dist_node on the coordinator, see node_rows_lock().
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"

#include "pando/base/sql.h"
#include "pando/catalog/catalog.h"
#include "pando/catalog/node.h"
#include "pando/cluster/node_row.h"
#include "pando/ddl/lead.h"
#include "pando/transaction/xact.h"

#define NODE_COLUMNS                                                                     \
	"nodeid, groupid, nodename, nodeport, noderack, hasmetadata, isactive, noderole, "   \
	"nodecluster, metadatasynced, shouldhaveshards, nodeisclone, nodeprimarynodeid"

void
node_rows_lock(LOCKMODE mode)
{
	LockRelationOid(catalog_oid("pg_dist_node"), mode);
}

void
node_rows_lead(LOCKMODE mode)
{
	lead_catalog("pg_dist_node", mode);
	node_rows_lock(mode);
}

void
node_rows_require_admin(void)
{
	if (!superuser())
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("must be superuser to change the nodes of the cluster")));
}

void
node_run_everywhere(const char *sql)
{
	OwnerScope scope;
	List *others = node_list(NODES_OTHER);

	owner_enter(&scope);
	sql_run("%s", sql);
	owner_leave(&scope);
	xact_wrote_locally();
	if (others != NIL)
		xact_tell_nodes(others, sql);
	CommandCounterIncrement();
}

/* ------------------------------------------------------------------------------------
 * Finding
 */

/* A row as the others see it: what metadata calls a node, and its role. */
static ClusterNode *
cluster_node(const NodeRow *row)
{
	ClusterNode *found = palloc0(sizeof(ClusterNode));

	node_from_row(&found->node, row);
	found->role = row->noderole;
	return found;
}

ClusterNode *
node_row_find(const char *host, int port, bool required)
{
	foreach_ptr (const NodeRow, row, catalog_node_all())
	{
		if (strcmp(row->nodename, host) == 0 && row->nodeport == port)
			return cluster_node(row);
	}
	if (required)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("node %s:%d does not exist", host, port),
						errhint("pg_dist_node lists the nodes of this cluster.")));
	return NULL;
}

ClusterNode *
node_row_find_id(int32 node_id)
{
	const NodeRow *row = catalog_node_by_id(node_id);

	return row != NULL ? cluster_node(row) : NULL;
}

ClusterNode *
node_row_find_primary(int32 group)
{
	foreach_ptr (const NodeRow, row, catalog_node_all())
	{
		if (row->groupid == group && strcmp(row->noderole, NODE_ROLE_PRIMARY) == 0)
			return cluster_node(row);
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------
 * Changing
 */

static const char *
bool_text(bool value)
{
	return value ? "true" : "false";
}

/* One element of a VALUES list. */
static char *
node_row_values(const ClusterNode *row)
{
	const DistNode *node = &row->node;

	return psprintf("(%d, %d, %s, %d, %s, %s, %s, %s, %s, %s, %s, %s, %d)", node->id,
					node->group, quote_literal_cstr(node->host), node->port,
					quote_literal_cstr(node->rack), bool_text(node->has_metadata),
					bool_text(node->active), quote_literal_cstr(row->role),
					quote_literal_cstr(node->cluster), bool_text(node->metadata_synced),
					bool_text(node->should_have_shards), bool_text(node->is_clone),
					node->primary_id);
}

void
node_row_insert(ClusterNode *row)
{
	DistNode *node = &row->node;

	node->id = catalog_node_next_id();
	if (node->group < 0)
		node->group = catalog_node_next_group();
	if (node->rack == NULL)
		node->rack = "default";
	node_run_everywhere(psprintf("INSERT INTO pg_catalog.pg_dist_node (" NODE_COLUMNS
								 ") VALUES %s; SELECT pando.nodes_changed()",
								 node_row_values(row)));
}

void
node_row_update(int32 node_id, const char *assignments)
{
	node_run_everywhere(
		psprintf("UPDATE pg_catalog.pg_dist_node SET %s WHERE nodeid = %d; "
				 "SELECT pando.nodes_changed()",
				 assignments, node_id));
}

/* Here and on all other active nodes except that one. */
static void
run_everywhere_except(int32 node_id, const char *sql)
{
	List *others = NIL;

	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
	{
		if (node->id != node_id)
			others = lappend(others, (void *) node);
	}
	sql_run("%s", sql);
	xact_wrote_locally();
	if (others != NIL)
		xact_tell_nodes(others, sql);
	CommandCounterIncrement();
}

void
node_row_update_except(int32 node_id, const char *assignments)
{
	run_everywhere_except(
		node_id, psprintf("UPDATE pg_catalog.pg_dist_node SET %s WHERE nodeid = %d; "
						  "SELECT pando.nodes_changed()",
						  assignments, node_id));
}

static char *
address_update(int32 node_id, const char *host, int port, const char *more)
{
	return psprintf("UPDATE pg_catalog.pg_dist_node SET nodename = %s, nodeport = %d%s "
					"WHERE nodeid = %d; ",
					quote_literal_cstr(host), port, more, node_id);
}

void
node_row_move(const ClusterNode *row, const char *host, int port,
			  const ClusterNode *other, bool told)
{
	StringInfoData sql;

	initStringInfo(&sql);
	/* Nowhere for a moment: addresses are unique. */
	if (other != NULL)
		appendStringInfoString(
			&sql, address_update(other->node.id, other->node.host, -other->node.id, ""));
	appendStringInfoString(&sql, address_update(row->node.id, host, port,
												told ? "" : ", metadatasynced = false"));
	if (other != NULL)
		appendStringInfoString(
			&sql, address_update(other->node.id, row->node.host, row->node.port, ""));
	appendStringInfoString(&sql, "SELECT pando.nodes_changed()");
	if (!told)
	{
		run_everywhere_except(row->node.id, sql.data);
		return;
	}
	/* Here first: from then on the node is talked to under its new address. */
	sql_run("%s", sql.data);
	CommandCounterIncrement();
	node_run_everywhere(sql.data);
}

void
node_row_delete(int32 node_id)
{
	run_everywhere_except(
		node_id, psprintf("DELETE FROM pg_catalog.pg_dist_node WHERE nodeid = %d; "
						  "SELECT pando.nodes_changed()",
						  node_id));
}

void
node_row_ensure_coordinator(bool should_have_shards)
{
	ClusterNode row = {0};

	if (catalog_node_all() != NIL)
		return;
	row.node.host = node_local_hostname;
	row.node.port = PostPortNumber;
	row.node.group = COORDINATOR_GROUP;
	row.node.has_metadata = row.node.metadata_synced = row.node.active = true;
	row.node.should_have_shards = should_have_shards;
	row.node.cluster = "default";
	row.role = NODE_ROLE_PRIMARY;
	node_row_insert(&row);
}

char *
node_rows_insert_command(void)
{
	StringInfoData sql;
	List *rows = catalog_node_all();
	const char *separator = "";

	if (rows == NIL)
		return NULL;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "INSERT INTO pg_catalog.pg_dist_node (" NODE_COLUMNS
								 ") VALUES ");
	foreach_ptr (const NodeRow, row, rows)
	{
		appendStringInfo(&sql, "%s%s", separator, node_row_values(cluster_node(row)));
		separator = ", ";
	}
	return sql.data;
}
