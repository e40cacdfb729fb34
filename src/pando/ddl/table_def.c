/*
 * table_def.c: a table's definition as SQL commands.
 *
 * The text is composed in SQL (pando.table_definition and its helpers) from the server's
 * own pg_get_*() functions, with search_path set to pg_catalog, so that all names come
 * out qualified. Here is only the way in from C.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
#include "utils/ruleutils.h"

#include "pando/base/sql.h"
#include "pando/ddl/table_def.h"

PG_FUNCTION_INFO_V1(constraint_command);
PG_FUNCTION_INFO_V1(index_command);

/* Commands of the stages that compare so with the foreign keys' one, table after table.
 * It is one question for all of them. */
static List *
commands_of(List *relids, const char *compare)
{
	StringInfoData oids;

	if (relids == NIL)
		return NIL;
	initStringInfo(&oids);
	foreach_oid(relid, relids)
		appendStringInfo(&oids, "%s%u", oids.len == 0 ? "" : ",", relid);
	return sql_column(
		"SELECT d.command FROM pg_catalog.unnest('{%s}'::oid[]) WITH ORDINALITY t(rel, "
		"n), "
		"pando.table_definition(t.rel, false) WITH ORDINALITY d(stage, command, m) "
		"WHERE d.stage %s %d ORDER BY t.n, d.m",
		oids.data, compare, SHARD_STAGE_FOREIGN_KEYS);
}

List *
table_def_commands(List *relids)
{
	return commands_of(relids, "<");
}

List *
table_def_local_shell(Oid relid)
{
	return sql_column("SELECT pando.local_shell_definition(%u::oid::regclass)", relid);
}

List *
table_def_foreign_keys(List *relids)
{
	return commands_of(relids, "=");
}

List *
table_def_rules(List *relids)
{
	return commands_of(relids, ">");
}

List *
table_def_shard_commands(Oid relid, ShardStage stage)
{
	return sql_column(
		"SELECT command FROM pando.table_definition(%u::oid::regclass, true) "
		"WHERE stage = %d",
		relid, stage);
}

/* ALTER TABLE ... ADD CONSTRAINT with the index's options, which pg_get_constraintdef
 * omits. */
Datum
constraint_command(PG_FUNCTION_ARGS)
{
	Oid constraint = PG_GETARG_OID(0);

	if (!SearchSysCacheExists1(CONSTROID, ObjectIdGetDatum(constraint)))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("constraint with OID %u does not exist", constraint)));
	PG_RETURN_TEXT_P(cstring_to_text(pg_get_constraintdef_command(constraint)));
}

/* CREATE INDEX with the tablespace, which pg_get_indexdef omits; not of partitioned
 * tables. */
Datum
index_command(PG_FUNCTION_ARGS)
{
	Oid index = PG_GETARG_OID(0);

	if (!SearchSysCacheExists1(INDEXRELID, ObjectIdGetDatum(index)))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("index with OID %u does not exist", index)));
	PG_RETURN_TEXT_P(cstring_to_text(pg_get_indexdef_string(index)));
}
