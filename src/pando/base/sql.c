/*
 * sql.c: running SQL inside this backend from C, and doing so as the extension's owner.
 *
 * Statements go through SPI with a fresh snapshot each, so each sees what came before it.
 * Results are copied into the caller's memory context before SPI's is gone.
 *
 * Questions and changes of the extension's own run with a search_path of pg_catalog alone
 * (and pg_temp last): whatever the client's path leads to, a function or operator there
 * that matches better would run with the client's rights. What runs users' own code
 * (expressions, triggers, event triggers) runs as it is, under the client's path, and
 * qualifies all names.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_extension.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"

#include "pando/base/sql.h"

/* Formats with the arguments that follow; like psprintf for a va_list of the caller. */
#define SQL_FORMAT(out, fmt)                                                             \
	do                                                                                   \
	{                                                                                    \
		StringInfoData buffer_;                                                          \
		int needed_;                                                                     \
		initStringInfo(&buffer_);                                                        \
		do                                                                               \
		{                                                                                \
			va_list args_;                                                               \
			va_start(args_, fmt);                                                        \
			needed_ = appendStringInfoVA(&buffer_, fmt, args_);                          \
			va_end(args_);                                                               \
			if (needed_ != 0)                                                            \
				enlargeStringInfo(&buffer_, needed_);                                    \
		} while (needed_ != 0);                                                          \
		(out) = buffer_.data;                                                            \
	} while (0)

/* Runs inside an SPI connection; the result stands in SPI_tuptable, SPI_processed. */
static void
sql_execute(const char *sql)
{
	int result = SPI_execute(sql, false, 0);

	/* Some functions are called with commands that their callers made. */
	if (result == SPI_ERROR_TRANSACTION || result == SPI_ERROR_COPY)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("transaction commands and COPY of a client's rows cannot be "
						"run inside a function")));
	if (result < 0)
		elog(ERROR, "could not run \"%s\": %s", sql, SPI_result_code_string(result));
}

uint64
sql_run_as_is(const char *sql)
{
	uint64 processed;

	SPI_connect();
	sql_execute(sql);
	processed = SPI_processed;
	SPI_finish();
	return processed;
}

/* First column of the rows as a List of char * in `context`. */
static List *
sql_first_column(MemoryContext context, uint64 limit)
{
	List *values = NIL;
	MemoryContext old;
	uint64 nrows = SPI_tuptable != NULL ? Min(SPI_processed, limit) : 0;

	for (uint64 i = 0; i < nrows; i++)
	{
		char *value = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);

		old = MemoryContextSwitchTo(context);
		values = lappend(values, value != NULL ? pstrdup(value) : NULL);
		MemoryContextSwitchTo(old);
	}
	return values;
}

/* First columns of the rows, at most `limit`, under the search_path as it is. */
static List *
sql_ask(const char *sql, uint64 limit)
{
	MemoryContext context = CurrentMemoryContext;
	List *values;

	SPI_connect();
	sql_execute(sql);
	values = sql_first_column(context, limit);
	SPI_finish();
	return values;
}

int
sql_pin_search_path(void)
{
	int level = NewGUCNestLevel();

	set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	return level;
}

uint64
sql_run(const char *fmt, ...)
{
	char *sql;
	uint64 processed;
	int level;

	SQL_FORMAT(sql, fmt);
	level = sql_pin_search_path();
	processed = sql_run_as_is(sql);
	AtEOXact_GUC(true, level);
	pfree(sql);
	return processed;
}

/* The same for a question of the extension's own. */
static List *
sql_ask_pinned(char *sql, uint64 limit)
{
	int level = sql_pin_search_path();
	List *values = sql_ask(sql, limit);

	AtEOXact_GUC(true, level);
	pfree(sql);
	return values;
}

char *
sql_value(const char *fmt, ...)
{
	char *sql;
	List *values;

	SQL_FORMAT(sql, fmt);
	values = sql_ask_pinned(sql, 1);
	return values != NIL ? linitial(values) : NULL;
}

char *
sql_value_as_is(const char *sql)
{
	List *values = sql_ask(sql, 1);

	return values != NIL ? linitial(values) : NULL;
}

List *
sql_column(const char *fmt, ...)
{
	char *sql;

	SQL_FORMAT(sql, fmt);
	return sql_ask_pinned(sql, PG_UINT64_MAX);
}

List *
sql_column_as_is(const char *sql)
{
	return sql_ask(sql, PG_UINT64_MAX);
}

Oid
sql_extension_owner(void)
{
	Oid owner = InvalidOid;
	Relation rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum("pando"));
	scan = systable_beginscan(rel, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		owner = ((Form_pg_extension) GETSTRUCT(tuple))->extowner;
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	if (!OidIsValid(owner))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("extension pando does not exist in this database"),
						errhint("Run CREATE EXTENSION pando.")));
	return owner;
}

char *
sql_join(List *commands)
{
	StringInfoData sql;

	initStringInfo(&sql);
	foreach_ptr (char, command, commands)
	{
		appendStringInfo(&sql, "%s;\n", command);
	}
	return sql.data;
}

void
sql_append_text_array(StringInfo out, List *values)
{
	const char *separator = "";

	appendStringInfoString(out, "ARRAY[");
	foreach_ptr (char, value, values)
	{
		appendStringInfo(out, "%s%s", separator, quote_literal_cstr(value));
		separator = ", ";
	}
	appendStringInfoString(out, "]::text[]");
}

void
owner_enter(OwnerScope *scope)
{
	Oid owner = sql_extension_owner();

	GetUserIdAndSecContext(&scope->userid, &scope->security_context);
	SetUserIdAndSecContext(owner, scope->security_context | SECURITY_LOCAL_USERID_CHANGE);
	scope->guc_level = sql_pin_search_path();
}

void
owner_leave(OwnerScope *scope)
{
	AtEOXact_GUC(true, scope->guc_level);
	SetUserIdAndSecContext(scope->userid, scope->security_context);
}
