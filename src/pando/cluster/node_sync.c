/*
 * node_sync.c: everything that a member of the cluster has, brought to a node.
 *
 * Order on the node: identity and node rows; objects that tables depend on; shell tables
 * that are missing; their foreign keys; rows of pg_dist_*; what needs tables; copies of
 * reference tables last, since others wait for what that locks. Shell tables get their
 * foreign keys before they are registered, while they still are plain tables there.
 *
 * Locks, to the end of the transaction: pg_dist_node exclusively (the caller), each
 * distributed table's shell here in SHARE UPDATE EXCLUSIVE mode, which keeps schema
 * changes and shard moves out but neither reads nor writes; reference tables as copies of
 * shards lock them (move.c).
 */
#include "pando/compat/compat.h"

#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "commands/tablecmds.h"
#include "access/xact.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/cluster/move.h"
#include "pando/cluster/node_lock.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/node_sync.h"
#include "pando/ddl/database.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/view.h"
#include "pando/catalog/object.h"
#include "pando/ddl/settings.h"
#include "pando/ddl/shard_ddl.h"
#include "pando/ddl/table_def.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

#define BATCH 100		/* commands that a node gets at once */
#define SILENCE_MS 3000 /* longer than that nobody waits without a word */

PG_FUNCTION_INFO_V1(metadata_changed);
PG_FUNCTION_INFO_V1(table_changed);

/* pando.metadata_changed(): this server's backends reload nodes and all tables. */
Datum
metadata_changed(PG_FUNCTION_ARGS)
{
	CommandCounterIncrement();
	node_invalidate();
	foreach_ptr (char, oid,
				 sql_column("SELECT logicalrelid::oid FROM "
							"pg_catalog.pg_dist_partition"))
	{
		dist_table_invalidate(atooid(oid));
	}
	PG_RETURN_VOID();
}

/* pando.table_changed(regclass): this server's backends reload the table's metadata. */
Datum
table_changed(PG_FUNCTION_ARGS)
{
	CommandCounterIncrement();
	dist_table_invalidate(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * Rows of pg_dist_* as commands. Objects are named, since OIDs differ between nodes.
 */

/* clang-format off */
#define TABLE_NAME_OF(column)                                                            \
	"(SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) FROM pg_catalog.pg_class c "                     \
	"JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = " column ")"

static const char *const metadata_commands[] = {
	"SELECT 'DELETE FROM pg_catalog.pg_dist_node_metadata; "
	"INSERT INTO pg_catalog.pg_dist_node_metadata VALUES (' || pg_catalog.quote_literal(metadata::pg_catalog.text) "
	"|| ')' FROM pg_catalog.pg_dist_node_metadata",

	"SELECT 'DELETE FROM pando.node_secret; INSERT INTO pando.node_secret VALUES (' || "
	"pg_catalog.quote_literal(secret) || ')' FROM pando.node_secret",

	"SELECT 'INSERT INTO pg_catalog.pg_dist_authinfo VALUES ' || "
	"pg_catalog.string_agg(pg_catalog.format('(%s, %L, %L)', nodeid, rolename, authinfo), ', ') "
	"FROM pg_catalog.pg_dist_authinfo",

	"SELECT 'INSERT INTO pg_catalog.pg_dist_poolinfo VALUES ' || "
	"pg_catalog.string_agg(pg_catalog.format('(%s, %L)', nodeid, poolinfo), ', ') FROM pg_catalog.pg_dist_poolinfo",

	"SELECT 'INSERT INTO pg_catalog.pg_dist_colocation VALUES ' || "
	"pg_catalog.string_agg(pg_catalog.format('(%s, %s, %s, %L::pg_catalog.regtype, %L::pg_catalog.regcollation)', colocationid, "
	"shardcount, replicationfactor, distributioncolumntype::pg_catalog.regtype, "
	"distributioncolumncollation::pg_catalog.regcollation), ', ') FROM pg_catalog.pg_dist_colocation",

	"SELECT 'INSERT INTO pando.colocation_private VALUES ' || "
	"pg_catalog.string_agg(pg_catalog.format('(%s)', colocationid), ', ') FROM pando.colocation_private",

	"SELECT 'INSERT INTO pg_catalog.pg_dist_schema VALUES ' || "
	"pg_catalog.string_agg(pg_catalog.format('(%L::pg_catalog.regnamespace, %s)', pg_catalog.quote_ident(n.nspname), s.colocationid), ', ') "
	"FROM pg_catalog.pg_dist_schema s JOIN pg_catalog.pg_namespace n ON n.oid = s.schemaid",

	"SELECT 'INSERT INTO pando.distributed_schema VALUES ' || "
	"pg_catalog.string_agg(pg_catalog.format('(%s, %L)', colocation, name), ', ') FROM pando.distributed_schema",

	"SELECT 'INSERT INTO pg_catalog.pg_dist_partition VALUES ' || "
	"pg_catalog.string_agg(pg_catalog.format('(%L::pg_catalog.regclass, %L, %L, %s, %L, %L)', " TABLE_NAME_OF("p.logicalrelid")
	", partmethod, partkey, colocationid, repmodel, autoconverted), ', ') "
	"FROM pg_catalog.pg_dist_partition p",

	"SELECT 'INSERT INTO pando.distribution VALUES ' || "
	"pg_catalog.string_agg(pg_catalog.format('(%L::pg_catalog.regclass, %L, %L, %s, %s, %s, %L)', " TABLE_NAME_OF("d.relation")
	", kind, distribution_column, colocation, shard_count, replication, apart), ', ') "
	"FROM pando.distribution d",

	"SELECT 'INSERT INTO pg_catalog.pg_dist_shard VALUES ' || "
	"pg_catalog.string_agg(pg_catalog.format('(%L::pg_catalog.regclass, %s, %L, %L, %L)', " TABLE_NAME_OF("s.logicalrelid")
	", shardid, shardstorage, shardminvalue, shardmaxvalue), ', ') FROM pg_catalog.pg_dist_shard s",

	"SELECT 'INSERT INTO pg_catalog.pg_dist_placement VALUES ' || "
	"pg_catalog.string_agg(pg_catalog.format('(%s, %s, %s, %s, %s)', placementid, shardid, shardstate, "
	"shardlength, groupid), ', ') FROM pg_catalog.pg_dist_placement",
};
/* clang-format on */

static void
tell(const DistNode *node, const char *sql)
{
	xact_run_each(list_make1((void *) node), list_make1((void *) sql));
}

/* Says how far it is when that takes long. A batch is one round trip. */
static void
send_commands(const DistNode *node, List *commands, const char *what)
{
	TimestampTz said = GetCurrentTimestamp();

	for (int at = 0; at < list_length(commands); at += BATCH)
	{
		List *batch = list_copy_tail(commands, at);

		CHECK_FOR_INTERRUPTS();
		tell(node, sql_join(list_truncate(batch, BATCH)));
		if (!TimestampDifferenceExceeds(said, GetCurrentTimestamp(), SILENCE_MS))
			continue;
		said = GetCurrentTimestamp();
		ereport(NOTICE, (errmsg("node %s:%d has %d of %d %s", node->host, node->port,
								Min(at + BATCH, list_length(commands)),
								list_length(commands), what)));
	}
}

static void
send_identity(const DistNode *node)
{
	tell(node, psprintf("DELETE FROM pg_catalog.pg_dist_local_group; "
						"INSERT INTO pg_catalog.pg_dist_local_group VALUES (%d); "
						"DELETE FROM pg_catalog.pg_dist_node; %s; "
						"SELECT pando.nodes_changed()",
						node->group, node_rows_insert_command()));
}

static void
send_metadata(const DistNode *node)
{
	OwnerScope scope;
	List *commands = list_make1(NODE_METADATA_CLEAR);

	owner_enter(&scope);
	for (int i = 0; i < lengthof(metadata_commands); i++)
	{
		char *command = sql_value("%s", metadata_commands[i]);

		if (command != NULL)
			commands = lappend(commands, command);
	}
	owner_leave(&scope);
	commands = lappend(commands, "SELECT pando.metadata_changed()");
	tell(node, sql_join(commands));
}

/* Privileges on what is on every server, and so is nothing to be created. */
static void
send_public_privileges(const DistNode *node)
{
	List *commands;

	if (!ddl_role_propagation)
		return; /* the roles may not be there */
	commands = sql_column(
		"SELECT pando.grant_commands('SCHEMA public', nspacl, nspowner) "
		"FROM pg_catalog.pg_namespace WHERE oid = %u "
		"UNION ALL SELECT pando.grant_commands(pg_catalog.format('DATABASE "
		"%%I', datname), datacl, datdba) FROM pg_catalog.pg_database WHERE oid "
		"= %u",
		PG_PUBLIC_NAMESPACE, MyDatabaseId);
	if (commands != NIL)
		tell(node, sql_join(commands));
}

/* ------------------------------------------------------------------------------------
 * Tables
 */

/* Those of whose name the node has no relation. */
static List *
relations_missing(const DistNode *node, List *relids)
{
	StringInfoData sql;
	List *names = NIL;
	List *missing = NIL;
	char *answers; /* a letter for each */

	if (relids == NIL)
		return NIL;
	foreach_oid(relid, relids) names = lappend(names, name_qualified(relid));
	initStringInfo(&sql);
	appendStringInfoString(
		&sql,
		"SELECT pg_catalog.string_agg(CASE WHEN pg_catalog.to_regclass(name) IS NULL "
		"THEN 'n' ELSE 'y' END, '' ORDER BY ord) FROM pg_catalog.unnest(");
	sql_append_text_array(&sql, names);
	appendStringInfoString(&sql, ") WITH ORDINALITY t(name, ord)");
	answers = xact_value_from_node(node, sql.data);
	foreach_oid(relid, relids)
	{
		if (*answers++ == 'n')
			missing = lappend_oid(missing, relid);
	}
	return missing;
}

static void
refuse_found(const DistNode *node, Oid relid)
{
	ereport(ERROR, (errcode(ERRCODE_DUPLICATE_TABLE),
					errmsg("relation %s already exists on node %s:%d",
						   name_qualified(relid), node->host, node->port),
					errdetail("A distributed table of this cluster has the same name."),
					errhint("Rename or drop that relation on the node.")));
}

static void
send_shell_tables(const DistNode *node, List *relids, bool first_time)
{
	List *missing = relations_missing(node, relids);
	List *shells = NIL;
	List *local_shells = NIL; /* commands */
	List *foreign_keys;

	if (first_time && list_length(missing) < list_length(relids))
		refuse_found(node, linitial_oid(list_difference_oid(relids, missing)));
	foreach_oid(relid, missing)
	{
		if (!dist_table_require(relid)->managed_local)
			shells = lappend_oid(shells, relid);
		else
			local_shells = list_concat(local_shells, table_def_local_shell(relid));
	}
	send_commands(node, table_def_commands(shells), "table definitions");
	send_commands(node, local_shells, "definitions of local tables");
	foreign_keys = table_def_foreign_keys(shells);
	if (foreign_keys == NIL)
		return;
	tell(node, "SET LOCAL pando.shells_only TO on");
	send_commands(node, foreign_keys, "foreign keys");
	tell(node, "SET LOCAL pando.shells_only TO off");
}

static void
tell_node(const char *sql, void *node)
{
	tell(node, sql);
}

/* What materialized views show on all other nodes. */
static void
send_view_rows(const DistNode *node)
{
	foreach_ptr (ObjectRow, row, catalog_object_all())
	{
		if (row->classid == RelationRelationId &&
			get_rel_relkind(row->objid) == RELKIND_MATVIEW)
			view_rows_each(row->objid, tell_node, (void *) node);
	}
}

/* Rules name other tables, and views. */
static void
send_rules(const DistNode *node, List *relids)
{
	List *shells = NIL;

	foreach_oid(relid, relids)
	{
		if (!dist_table_require(relid)->managed_local)
			shells = lappend_oid(shells, relid);
	}
	send_commands(node, table_def_rules(shells), "rules");
}

void
node_sync(const DistNode *node, bool first_time, bool online)
{
	List *relids = node_lock_definitions();

	list_sort(relids, table_depth_cmp);
	send_identity(node);
	send_commands(node, dependency_all_commands(false), "objects");
	send_public_privileges(node);
	database_send(node);
	send_shell_tables(node, relids, first_time);
	send_metadata(node);
	send_commands(node, dependency_all_commands(true), "objects that need tables");
	send_rules(node, relids);
	send_view_rows(node);
	reference_tables_bring(node, online);
}
