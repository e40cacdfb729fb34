/*
 * node_leave.c: a node leaves the cluster.
 *
 * Statements that are under way have looked up its placements and must end first, and
 * later ones must see that they are gone: writers of reference tables are locked out, and
 * everybody of the other tables that have placements there.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/cluster/group_lock.h"
#include "pando/cluster/node_lock.h"
#include "pando/cluster/node_row.h"
#include "pando/cluster/node_sync.h"
#include "pando/ddl/shard_ddl.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

/* So long who was told to end may take for it, before he is told again. */
#define FORCE_WAIT_MS 500

/* Tables with a placement in the group. */
static void
tables_of_group(int32 group, List **reference, List **others)
{
	*reference = *others = NIL;
	foreach_ptr (char, oid,
				 sql_column("SELECT DISTINCT logicalrelid::oid FROM "
							"pg_catalog.pg_dist_shard JOIN "
							"pg_catalog.pg_dist_placement USING (shardid) WHERE "
							"groupid = %d",
							group))
	{
		const DistTable *table = dist_table_require(atooid(oid));

		if (table->kind == TABLE_REFERENCE)
			*reference = lappend_oid(*reference, table->relid);
		else
			*others = lappend_oid(*others, table->relid);
	}
}

void
node_lock_for_leaving(const DistNode *node, bool reachable)
{
	List *reference;
	List *others;

	node_lock_definitions();
	tables_of_group(node->group, &reference, &others);
	node_lock_tables_everywhere(reference, ExclusiveLock, reachable ? NULL : node);
	node_lock_tables_everywhere(others, AccessExclusiveLock, reachable ? NULL : node);
}

/* Calls a function that ends users of the node's tables, on all nodes or all others. */
static void
end_users(const DistNode *node, bool reachable, const char *function, const char *more)
{
	List *reference;
	List *others;
	List *nodes = NIL;
	StringInfoData tables;

	tables_of_group(node->group, &reference, &others);
	initStringInfo(&tables);
	foreach_oid(relid, list_concat(reference, others))
		appendStringInfo(&tables, "%s%s", tables.len > 0 ? ", " : "",
						 quote_literal_cstr(name_qualified(relid)));
	foreach_ptr (DistNode, other, node_list(NODES_ALL))
	{
		if (reachable || other->id != node->id || node->group == node_local_group())
			nodes = lappend(nodes, other);
	}
	xact_run_on_nodes(nodes,
					  psprintf("SELECT pando.%s(ARRAY[%s]::pg_catalog.regclass[]%s)",
							   function, tables.data, more));
}

void
node_end_writers(const DistNode *node, int cooldown_ms)
{
	end_users(node, false, "writers_end", psprintf(", %d", cooldown_ms));
}

/* What the attempts of node_lock_by_force() are about. */
typedef struct Pause
{
	const DistNode *node;
	bool reachable;
	int timeout_ms;
} Pause;

static void
lock_in_time(void *arg)
{
	const Pause *pause = arg;
	int guc_level = NewGUCNestLevel();

	(void) set_config_option("lock_timeout", psprintf("%d", Max(pause->timeout_ms, 1)),
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	node_lock_for_leaving(pause->node, pause->reachable);
	AtEOXact_GUC(true, guc_level);
}

void
node_lock_by_force(const DistNode *node, bool reachable, int cooldown_ms)
{
	Pause pause = {node, reachable, cooldown_ms};

	while (!group_lock_attempt(lock_in_time, &pause))
	{
		end_users(node, reachable, "users_end", "");
		pause.timeout_ms = FORCE_WAIT_MS;
	}
}

void
node_forget(const DistNode *node)
{
	xact_run_each(list_make1((void *) node), list_make1("SELECT pando.node_leave()"));
}

PG_FUNCTION_INFO_V1(node_leave);

/*
 * pando.node_leave(): this server forgets the cluster. Shards and shell tables are
 * dropped; other objects (schemas, types, functions, roles) stay.
 */
Datum
node_leave(PG_FUNCTION_ARGS)
{
	List *names = NIL;
	List *owners = NIL;
	ListCell *name;
	ListCell *owner;

	if (!superuser())
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("must be superuser to take a node out of the cluster")));
	foreach_ptr (char, id,
				 sql_column("SELECT logicalrelid::oid FROM pg_catalog.pg_dist_partition"))
	{
		Oid relid = atooid(id);

		if (get_rel_name(relid) == NULL)
			continue;
		foreach_ptr (char, shard,
					 sql_column("SELECT shardid FROM pg_catalog.pg_dist_shard WHERE "
								"logicalrelid = %u AND "
								"pando.table_type(logicalrelid) <> 'local'",
								relid))
		{
			names = lappend(names, name_shard_qualified(relid, pg_strtoint64(shard)));
			owners = lappend_oid(owners, shard_owner(relid));
		}
		names = lappend(names, name_qualified(relid));
		owners = lappend_oid(owners, shard_owner(relid));
	}
	sql_run(NODE_METADATA_CLEAR "; DELETE FROM pg_catalog.pg_dist_object; "
								"DELETE FROM pg_catalog.pg_dist_node; "
								"UPDATE pg_catalog.pg_dist_local_group SET groupid = 0; "
								"UPDATE pg_catalog.pg_dist_node_metadata SET metadata = "
								"metadata || jsonb_build_object('server_id', "
								"gen_random_uuid()::text); "
								"UPDATE pando.node_secret SET secret = "
								"gen_random_uuid()::text || gen_random_uuid()::text; "
								"SELECT pando.nodes_changed()");
	forboth(name, names, owner, owners)
		shard_drop_tables(list_make1(lfirst(name)), lfirst_oid(owner), WARNING);
	PG_RETURN_VOID();
}

void
node_drop_shards_here(void)
{
	foreach_ptr (char, command,
				 sql_column("SELECT pg_catalog.format('SELECT pando.shards_drop("
							"%%L::pg_catalog.regclass, %%L)', "
							"logicalrelid::pg_catalog.text, "
							"pg_catalog.array_agg(shardid)) "
							"FROM pg_catalog.pg_dist_placement "
							"JOIN pg_catalog.pg_dist_shard USING (shardid) "
							"WHERE groupid = %d GROUP BY logicalrelid",
							node_local_group()))
		sql_run("%s", command);
}

void
node_forget_placements(int32 group)
{
	node_run_everywhere(
		psprintf("DELETE FROM pg_catalog.pg_dist_placement WHERE groupid = %d; "
				 "SELECT pando.metadata_changed()",
				 group));
}

void
node_require_no_only_placement(const DistNode *node, const char *what)
{
	List *shards = sql_column(
		"SELECT p.shardid FROM pg_catalog.pg_dist_placement p "
		"WHERE p.groupid = %d AND p.shardstate = 1 AND NOT EXISTS "
		"(SELECT FROM pg_catalog.pg_dist_placement o WHERE o.shardid = p.shardid "
		"AND o.groupid <> p.groupid AND o.shardstate = 1) ORDER BY 1",
		node->group);
	char *table;

	if (shards == NIL)
		return;
	table =
		sql_value("SELECT logicalrelid FROM pg_catalog.pg_dist_shard WHERE shardid = %s",
				  (char *) linitial(shards));
	ereport(
		ERROR,
		(errcode(ERRCODE_OBJECT_IN_USE),
		 errmsg("cannot %s node %s:%d because it holds the only placement of %d shards",
				what, node->host, node->port, list_length(shards)),
		 errdetail("One of them is shard %s of table %s.", (char *) linitial(shards),
				   table),
		 errhint("Move the shards away with citus_drain_node(), or drop or undistribute "
				 "the tables.")));
}
