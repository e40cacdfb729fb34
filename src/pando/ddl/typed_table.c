/*
 * typed_table.c: tables of a composite type.
 *
 * Shells and shards are of the type on each node. So where ALTER TYPE ... CASCADE runs it
 * changes them all by itself; left to do are locks, in the nodes' order, and what the
 * metadata say of distribution columns.
 */
#include "pando/compat/compat.h"

#include "utils/builtins.h"

#include "pando/base/sql.h"
#include "pando/ddl/key_type.h"
#include "pando/ddl/lock_list.h"
#include "pando/ddl/typed_table.h"

List *
typed_tables_of(Oid relid)
{
	List *tables = NIL;

	if (!OidIsValid(relid))
		return NIL;
	foreach_ptr (
		char, id,
		sql_column("SELECT c.oid FROM pg_catalog.pg_class t JOIN pg_catalog.pg_class c "
				   "ON c.reloftype = t.reltype JOIN pg_catalog.pg_namespace n "
				   "ON n.oid = c.relnamespace WHERE t.oid = %u AND t.relkind = 'c' AND "
				   "EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid "
				   "= c.oid) ORDER BY n.nspname, c.relname",
				   relid))
		tables = lappend_oid(tables, atooid(id));
	return tables;
}

void
typed_tables_prepare(DdlJob *job, Oid relid)
{
	foreach_oid(table, typed_tables_of(relid))
	{
		lock_list_add(job, table, AccessExclusiveLock);
		if (!IsA(job->stmt, AlterTableStmt))
			continue;
		foreach_ptr (AlterTableCmd, command, ((AlterTableStmt *) job->stmt)->cmds)
			key_type_check(table, command);
	}
}
