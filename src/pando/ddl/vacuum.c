/*
 * vacuum.c: VACUUM and ANALYZE reach the shards.
 *
 * Outside a transaction block every node gets one statement with all of its shards, and
 * runs it outside a transaction; this node's shards follow in the backend. Without a
 * list, all distributed tables are meant. ANALYZE in a transaction block runs in the
 * transaction. The shell is then told how large its shards are, for the planner.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/multixact.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "commands/vacuum.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/ddl/outside.h"
#include "pando/ddl/statements.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/statistics/shell_stats.h"
#include "pando/transaction/xact.h"

/* VACUUM (options) without its list of tables. */
static char *
vacuum_head(const VacuumStmt *stmt)
{
	StringInfoData head;
	const char *separator = " (";

	initStringInfo(&head);
	appendStringInfoString(&head, stmt->is_vacuumcmd ? "VACUUM" : "ANALYZE");
	foreach_ptr (DefElem, option, stmt->options)
	{
		appendStringInfo(&head, "%s%s", separator, option->defname);
		if (option->arg != NULL)
			appendStringInfo(&head, " %s", defGetString(option));
		separator = ", ";
	}
	if (stmt->options != NIL)
		appendStringInfoChar(&head, ')');
	return head.data;
}

static bool
has_option(const VacuumStmt *stmt, const char *name)
{
	bool has = false;

	foreach_ptr (DefElem, option, stmt->options)
	{
		if (strcmp(option->defname, name) == 0)
			has = defGetBoolean(option);
	}
	return has;
}

static void
append_columns(StringInfo out, List *columns)
{
	const char *separator = " (";

	foreach_ptr (String, column, columns)
	{
		appendStringInfo(out, "%s%s", separator, quote_identifier(column->sval));
		separator = ", ";
	}
	if (columns != NIL)
		appendStringInfoChar(out, ')');
}

typedef struct VacuumTable
{
	Oid relid;
	List *columns;
} VacuumTable;

static VacuumTable *
vacuum_table(Oid relid, List *columns)
{
	VacuumTable *table = palloc0(sizeof(VacuumTable));

	table->relid = relid;
	table->columns = columns;
	return table;
}

/*
 * The distributed tables that the statement names, once nobody converts any; but for
 * those that the role may not vacuum: PostgreSQL warns of the shell and goes on. Tables
 * that are dropped while this waits are named to PostgreSQL by their Oids: it looks up
 * all names before it waits for any table, and warns of one that it no longer finds.
 */
static List *
vacuum_named_tables(const VacuumStmt *stmt)
{
	List *relids = NIL;
	List *tables = NIL;
	ListCell *cell;
	ListCell *named;

	foreach_ptr (VacuumRelation, relation, stmt->rels)
	{
		Oid relid = relation->oid;

		if (!OidIsValid(relid))
			relid = RangeVarGetRelid(relation->relation, NoLock, true);
		relids = lappend_oid(relids, relid);
	}
	forboth(cell, relids, named, stmt->rels)
	{
		const VacuumRelation *relation = lfirst(named);

		if (job_table_has_shards(lfirst_oid(cell)) &&
			compat_may_vacuum(lfirst_oid(cell), GetUserId()))
			tables = lappend(tables, vacuum_table(lfirst_oid(cell), relation->va_cols));
	}
	forboth(cell, relids, named, stmt->rels)
	{
		if (OidIsValid(lfirst_oid(cell)) && get_rel_relkind(lfirst_oid(cell)) == '\0')
			((VacuumRelation *) lfirst(named))->oid = lfirst_oid(cell);
	}
	return tables;
}

/* The distributed tables that the statement is about, as VacuumTables. */
static List *
vacuum_tables(const VacuumStmt *stmt)
{
	List *tables = NIL;
	ListCell *cell;

	if (stmt->rels != NIL)
		return vacuum_named_tables(stmt);
	foreach (cell, dist_table_oids())
	{
		Oid relid = lfirst_oid(cell);

		if (dist_table_require(relid)->kind != TABLE_MANAGED_LOCAL &&
			compat_may_vacuum(relid, GetUserId()))
			tables = lappend(tables, vacuum_table(relid, NIL));
	}
	return tables;
}

void
vacuum_prepare(DdlJob *job)
{
	VacuumStmt *stmt = (VacuumStmt *) job->stmt;

	job->concerned = vacuum_tables(stmt) != NIL;
}

/* The statement's list for one node group; NULL when it has no shards. */
static char *
vacuum_command(const VacuumStmt *stmt, List *tables, int32 group)
{
	StringInfoData sql;
	const char *separator = " ";

	initStringInfo(&sql);
	appendStringInfoString(&sql, vacuum_head(stmt));
	foreach_ptr (VacuumTable, table, tables)
	{
		foreach_ptr (ShardMap, map, job_shard_maps(table->relid, group))
		{
			appendStringInfo(
				&sql, "%s%s", separator,
				shard_table_name(dist_table_require(table->relid), map->shard_id));
			append_columns(&sql, table->columns);
			separator = ", ";
		}
	}
	return strcmp(separator, " ") == 0 ? NULL : sql.data;
}

/* ------------------------------------------------------------------------------------
 * Running
 */

static void
analyze_in_transaction(DdlJob *job, VacuumStmt *stmt, List *tables)
{
	List *nodes = NIL;
	List *commands = NIL;

	job_run_shell(job);
	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		char *command = vacuum_command(stmt, tables, node->group);

		if (command == NULL)
			continue;
		nodes = lappend(nodes, (void *) node);
		commands = lappend(commands, command);
	}
	xact_run_each(nodes, commands);
}

static void
vacuum_outside(DdlJob *job, VacuumStmt *stmt, List *tables)
{
	OutsideWork *work = outside_begin(NULL);

	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		char *command = vacuum_command(stmt, tables, node->group);

		if (command != NULL)
			outside_add(work, node->group, command);
	}
	job_run_shell(job);
	outside_run(work);
}

/* The tables whose statistics can be written without a wait. */
static List *
lock_free_ones(List *relids)
{
	List *result = NIL;

	foreach_oid(relid, relids)
	{
		if (ConditionalLockRelationOid(relid, ShareUpdateExclusiveLock))
			result = lappend_oid(result, relid);
	}
	return result;
}

bool
vacuum_run(DdlJob *job)
{
	VacuumStmt *stmt = (VacuumStmt *) job->stmt;
	List *tables = vacuum_tables(stmt);
	List *relids = NIL;
	bool in_block =
		IsTransactionBlock() || job->call->context != PROCESS_UTILITY_TOPLEVEL;
	MemoryContext old = MemoryContextSwitchTo(
		PortalContext != NULL ? PortalContext : CurrentMemoryContext);

	foreach_ptr (VacuumTable, table, tables)
		relids = lappend_oid(relids, table->relid);
	MemoryContextSwitchTo(old);

	if (in_block && !stmt->is_vacuumcmd)
		analyze_in_transaction(job, stmt, tables);
	else
		vacuum_outside(job, stmt, tables);
	if (!stmt->is_vacuumcmd || has_option(stmt, "analyze"))
		shell_stats_gather(has_option(stmt, "skip_locked") ? lock_free_ones(relids)
														   : relids);
	return true;
}
