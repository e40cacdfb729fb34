/*
 * node_row.c: changing rows of pg_dist_node, the same on all nodes in one transaction.
 *
 * Only the coordinator changes nodes. It writes its own row first and then sends the same
 * statement to all other members, over the transaction's sessions; commit is two-phase.
 * Each statement ends with pando.nodes_changed(), which makes all backends of that server
 * read the rows anew.
 *
 * Locks: pg_dist_node on the coordinator, see node_rows_lock().
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/base/sql.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/settings.h"
#include "pando/transaction/xact.h"

#define NODE_COLUMNS                                                                     \
	"nodeid, groupid, nodename, nodeport, noderack, hasmetadata, isactive, noderole, "   \
	"nodecluster, metadatasynced, shouldhaveshards, nodeisclone, nodeprimarynodeid"

void
node_rows_lock(LOCKMODE mode)
{
	Oid relid = get_relname_relid("pg_dist_node", PG_CATALOG_NAMESPACE);

	if (!OidIsValid(relid))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("extension pando does not exist in this database"),
						errhint("Run CREATE EXTENSION pando.")));
	LockRelationOid(relid, mode);
}

void
node_rows_require_admin(void)
{
	if (!superuser())
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("must be superuser to change the nodes of the cluster")));
	node_require_coordinator();
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
		xact_run_on_nodes(others, sql);
	CommandCounterIncrement();
}

/* ------------------------------------------------------------------------------------
 * Finding
 */

static char *
column_text(HeapTuple tuple, TupleDesc desc, int column)
{
	char *value = SPI_getvalue(tuple, desc, column);

	return value != NULL ? value : pstrdup("");
}

static bool
column_bool(HeapTuple tuple, TupleDesc desc, int column)
{
	return column_text(tuple, desc, column)[0] == 't';
}

/* The first row of pg_dist_node for which the condition holds; NULL when there is none.
 */
static NodeRow *
node_row_select(const char *condition)
{
	MemoryContext context = CurrentMemoryContext;
	NodeRow *row = NULL;
	char *sql = psprintf("SELECT " NODE_COLUMNS
						 " FROM pg_catalog.pg_dist_node WHERE %s ORDER BY nodeid LIMIT 1",
						 condition);

	SPI_connect();
	if (SPI_execute(sql, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_dist_node");
	if (SPI_processed > 0)
	{
		HeapTuple tuple = SPI_tuptable->vals[0];
		TupleDesc desc = SPI_tuptable->tupdesc;
		MemoryContext spi_context = MemoryContextSwitchTo(context);

		row = palloc0(sizeof(NodeRow));
		row->node.id = pg_strtoint32(column_text(tuple, desc, 1));
		row->node.group = pg_strtoint32(column_text(tuple, desc, 2));
		row->node.host = column_text(tuple, desc, 3);
		row->node.port = pg_strtoint32(column_text(tuple, desc, 4));
		row->node.rack = column_text(tuple, desc, 5);
		row->node.has_metadata = column_bool(tuple, desc, 6);
		row->node.active = column_bool(tuple, desc, 7);
		row->role = column_text(tuple, desc, 8);
		row->node.primary = strcmp(row->role, NODE_ROLE_PRIMARY) == 0;
		row->node.cluster = column_text(tuple, desc, 9);
		row->node.metadata_synced = column_bool(tuple, desc, 10);
		row->node.should_have_shards = column_bool(tuple, desc, 11);
		row->node.is_clone = column_bool(tuple, desc, 12);
		row->node.primary_id = pg_strtoint32(column_text(tuple, desc, 13));
		MemoryContextSwitchTo(spi_context);
	}
	SPI_finish();
	return row;
}

NodeRow *
node_row_find(const char *host, int port, bool required)
{
	NodeRow *row = node_row_select(
		psprintf("nodename = %s AND nodeport = %d", quote_literal_cstr(host), port));

	if (row == NULL && required)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("node %s:%d does not exist", host, port),
						errhint("pg_dist_node lists the nodes of this cluster.")));
	return row;
}

NodeRow *
node_row_find_id(int32 node_id)
{
	return node_row_select(psprintf("nodeid = %d", node_id));
}

NodeRow *
node_row_find_primary(int32 group)
{
	return node_row_select(psprintf("groupid = %d AND noderole = 'primary'", group));
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
node_row_values(const NodeRow *row)
{
	const Node *node = &row->node;

	return psprintf("(%d, %d, %s, %d, %s, %s, %s, %s, %s, %s, %s, %s, %d)", node->id,
					node->group, quote_literal_cstr(node->host), node->port,
					quote_literal_cstr(node->rack), bool_text(node->has_metadata),
					bool_text(node->active), quote_literal_cstr(row->role),
					quote_literal_cstr(node->cluster), bool_text(node->metadata_synced),
					bool_text(node->should_have_shards), bool_text(node->is_clone),
					node->primary_id);
}

void
node_row_insert(NodeRow *row)
{
	Node *node = &row->node;

	node->id =
		pg_strtoint32(sql_value("SELECT nextval('pg_catalog.pg_dist_node_nodeid_seq')"));
	if (node->group < 0)
		node->group =
			pg_strtoint32(sql_value("SELECT nextval('pg_catalog.pg_dist_groupid_seq')"));
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

	foreach_ptr (const Node, node, node_list(NODES_OTHER))
	{
		if (node->id != node_id)
			others = lappend(others, (void *) node);
	}
	sql_run("%s", sql);
	xact_wrote_locally();
	if (others != NIL)
		xact_run_on_nodes(others, sql);
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
	NodeRow row = {0};
	OwnerScope scope;

	if (node_row_find_primary(COORDINATOR_GROUP) != NULL)
		return;
	row.node.host = setting_local_hostname;
	row.node.port = PostPortNumber;
	row.node.group = COORDINATOR_GROUP;
	row.node.has_metadata = row.node.metadata_synced = row.node.active = true;
	row.node.should_have_shards = should_have_shards;
	row.node.cluster = "default";
	row.role = NODE_ROLE_PRIMARY;

	owner_enter(&scope);
	node_row_insert(&row);
	owner_leave(&scope);
}

char *
node_rows_insert_command(void)
{
	StringInfoData sql;
	List *ids = sql_column("SELECT nodeid FROM pg_catalog.pg_dist_node ORDER BY nodeid");
	const char *separator = "";

	if (ids == NIL)
		return NULL;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "INSERT INTO pg_catalog.pg_dist_node (" NODE_COLUMNS
								 ") VALUES ");
	foreach_ptr (char, id, ids)
	{
		appendStringInfo(&sql, "%s%s", separator,
						 node_row_values(node_row_find_id(pg_strtoint32(id))));
		separator = ", ";
	}
	return sql.data;
}
