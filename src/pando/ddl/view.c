/*
 * view.c: views and materialized views on all nodes.
 *
 * A view is an object like others (object.c, dependency.c) that is named as a relation.
 * Each node has the rows of a materialized view: the node that makes or refreshes it runs
 * the query, once, and sends the rows to the others in the same transaction, so that all
 * show the same.
 */
#include "pando/compat/compat.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/matview.h"
#include "commands/tablecmds.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"
#include "catalog/pg_type.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/object.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/kind.h"
#include "pando/ddl/object.h"
#include "pando/ddl/statements.h"
#include "pando/ddl/truncate_triggers.h"
#include "pando/ddl/view.h"
#include "pando/metadata/node.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(matview_fill);

#define ROWS_AT_ONCE 1000		/* fetched */
#define BYTES_AT_ONCE (1 << 20) /* sent, about */

bool
view_is_everywhere(Oid relid)
{
	ObjectAddress address;

	ObjectAddressSet(address, RelationRelationId, relid);
	return OidIsValid(relid) && kind_is_view(relid) &&
		   catalog_object_find(&address) != NULL;
}

void
view_prepare(DdlJob *job, RangeVar *relation)
{
	Oid relid = relation == NULL ? InvalidOid : RangeVarGetRelid(relation, NoLock, true);
	ObjectAddress *address;

	if (!view_is_everywhere(relid))
		return;
	address = palloc(sizeof(ObjectAddress));
	ObjectAddressSet(*address, RelationRelationId, relid);
	job->concerned = true;
	job->objects = lappend(job->objects, address);
}

List *
view_in_schema(Oid schema)
{
	List *views = NIL;

	foreach_ptr (char, id,
				 sql_column("SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = %u "
							"AND relkind IN ('v', 'm') ORDER BY oid",
							schema))
		views = lappend_oid(views, atooid(id));
	return views;
}

/* ------------------------------------------------------------------------------------
 * Rows of materialized views
 */

static char *
fill_command(Oid relid, const char *rows, const char *stage)
{
	return psprintf("SELECT pando.matview_fill(%s::pg_catalog.regclass, ARRAY[%s]"
					"::pg_catalog.text[], '%s')",
					quote_literal_cstr(name_qualified(relid)), rows, stage);
}

/*
 * What users put into a view's indexes and types may run: for its owner, as in
 * PostgreSQL's REFRESH, and in no way that lasts.
 */
typedef struct Caller
{
	Oid userid;
	int security_context;
} Caller;

static Caller
become_owner(Oid owner)
{
	Caller caller;

	GetUserIdAndSecContext(&caller.userid, &caller.security_context);
	SetUserIdAndSecContext(owner,
						   caller.security_context | SECURITY_RESTRICTED_OPERATION);
	return caller;
}

static void
become_caller(Caller caller)
{
	SetUserIdAndSecContext(caller.userid, caller.security_context);
}

/* Fetches rows as text until there is about as much as is sent at once; false: none left.
 */
static bool
fetch_rows(Portal portal, StringInfo rows)
{
	resetStringInfo(rows);
	while (rows->len < BYTES_AT_ONCE)
	{
		SPI_cursor_fetch(portal, true, ROWS_AT_ONCE);
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			char *row = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);

			CHECK_FOR_INTERRUPTS();
			appendStringInfo(rows, "%s%s", rows->len > 0 ? "," : "",
							 quote_literal_cstr(row));
			pfree(row);
		}
		if (SPI_processed == 0)
			return rows->len > 0;
		SPI_freetuptable(SPI_tuptable);
	}
	return true;
}

void
view_rows_each(Oid relid, void (*run)(const char *sql, void *arg), void *arg)
{
	Relation rel = table_open(relid, AccessShareLock);
	bool populated = RelationIsPopulated(rel);
	char *query =
		psprintf("SELECT (v.*)::pg_catalog.text FROM %s v", name_qualified(relid));
	Oid owner = rel->rd_rel->relowner;
	StringInfoData rows;
	Portal portal;
	Caller caller;
	bool more;

	table_close(rel, AccessShareLock);
	run(fill_command(relid, "", "empty"), arg);
	if (!populated)
		return;
	SPI_connect();
	PushActiveSnapshot(GetLatestSnapshot());
	initStringInfo(&rows);
	caller = become_owner(owner);
	portal =
		SPI_cursor_parse_open(NULL, query, &(SPIParseOpenOptions){.read_only = true});
	do
	{
		(void) become_owner(owner);
		more = fetch_rows(portal, &rows);
		become_caller(caller);
		if (more)
			run(fill_command(relid, rows.data, "rows"), arg);
	} while (more);
	SPI_cursor_close(portal);
	PopActiveSnapshot();
	SPI_finish();
	run(fill_command(relid, "", "done"), arg);
}

static void
run_on_others(const char *sql, void *arg)
{
	const Oid *owner = arg;
	char *command = dependency_run_as(*owner, sql);

	if (command != NULL)
		xact_tell_nodes(node_list(NODES_OTHER), command);
	else
		xact_run_on_nodes(node_list(NODES_OTHER), sql);
}

void
view_rows_send(Oid relid)
{
	ObjectAddress view;
	Oid owner;

	if (node_list(NODES_OTHER) == NIL)
		return;
	ObjectAddressSet(view, RelationRelationId, relid);
	owner = object_facts(&view).owner;
	view_rows_each(relid, run_on_others, &owner);
}

/* Appends rows, given as text, without a care for indexes. */
static void
append_rows(Relation rel, ArrayType *array)
{
	Caller caller = become_owner(rel->rd_rel->relowner);
	int guc_level = NewGUCNestLevel();
	TupleTableSlot *slot =
		MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
	BulkInsertState bulk = GetBulkInsertState();
	MemoryContext row_context =
		AllocSetContextCreate(CurrentMemoryContext, "row", ALLOCSET_DEFAULT_SIZES);
	Datum *rows;
	bool *nulls;
	int count;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &rows, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(row_context);
		HeapTupleData tuple = {0};
		HeapTupleHeader header;

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("a row of a materialized view is missing")));
		header = DatumGetHeapTupleHeader(OidInputFunctionCall(
			F_RECORD_IN, TextDatumGetCString(rows[i]), rel->rd_rel->reltype, -1));
		tuple.t_len = HeapTupleHeaderGetDatumLength(header);
		tuple.t_data = header;
		ItemPointerSetInvalid(&tuple.t_self);
		ExecStoreHeapTuple(&tuple, slot, false);
		table_tuple_insert(rel, slot, GetCurrentCommandId(true), 0, bulk);
		ExecClearTuple(slot);
		MemoryContextSwitchTo(old);
		MemoryContextReset(row_context);
	}
	AtEOXact_GUC(false, guc_level);
	become_caller(caller);
	FreeBulkInsertState(bulk);
	table_finish_bulk_insert(rel, 0);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(row_context);
	CommandCounterIncrement();
}

/*
 * pando.matview_fill(view, rows, stage): 'empty' takes all rows away, 'rows' appends
 * some, 'done' makes the indexes and says that all are there. For the view's owner, who
 * decides by the view's query what it shows.
 */
Datum
matview_fill(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	char *stage = text_to_cstring(PG_GETARG_TEXT_PP(2));
	ReindexParams params = {0};
	Relation rel;

	if (get_rel_relkind(relid) != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation with OID %u is not a materialized view", relid)));
	if (!compat_owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_MATVIEW, get_rel_name(relid));
	rel = table_open(relid, AccessExclusiveLock);
	CheckTableNotInUse(rel, "fill");
	if (strcmp(stage, "rows") == 0)
		append_rows(rel, PG_GETARG_ARRAYTYPE_P(1));
	else if (strcmp(stage, "empty") == 0)
	{
		SetMatViewPopulatedState(rel, false);
		CommandCounterIncrement();
		relation_empty(rel);
	}
	else if (strcmp(stage, "done") == 0)
	{
		SetMatViewPopulatedState(rel, true);
		CommandCounterIncrement();
		compat_reindex(relid, 0, &params);
	}
	else
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("there is no stage \"%s\"", stage)));
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * REFRESH MATERIALIZED VIEW
 */

void
matview_refresh_prepare(DdlJob *job)
{
	view_prepare(job, ((RefreshMatViewStmt *) job->stmt)->relation);
	job->on_rows = true;
}

/* What other nodes send are rows. */
bool
matview_refresh_run(DdlJob *job)
{
	Oid relid = ((ObjectAddress *) linitial(job->objects))->objectId;

	if (job->applying)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("REFRESH MATERIALIZED VIEW is not for other nodes")));
	job_run_shell(job);
	CommandCounterIncrement();
	xact_wrote_locally();
	view_rows_send(relid);
	return true;
}

/* ------------------------------------------------------------------------------------
 * Tables that come and go below views
 */

/* Objects that depend on the table, by pando.table_dependents(). */
static List *
table_dependents(Oid relid)
{
	List *objects = NIL;

	foreach_ptr (char, row,
				 sql_column("SELECT pg_catalog.concat(class, ' ', obj) FROM "
							"pando.table_dependents(%u) ORDER BY obj",
							relid))
	{
		ObjectAddress *address = palloc(sizeof(ObjectAddress));
		char *end;

		address->classId = strtoul(row, &end, 10);
		address->objectId = strtoul(end, NULL, 10);
		address->objectSubId = 0;
		objects = lappend(objects, address);
	}
	return objects;
}

void
view_follow_table(Oid relid)
{
	foreach_ptr (ObjectAddress, object, table_dependents(relid))
	{
		if (catalog_object_find(object) != NULL || dependency_publish(object) != NULL)
			continue;
		if (object->classId == RelationRelationId &&
			get_rel_relkind(object->objectId) == RELKIND_MATVIEW)
			view_rows_send(object->objectId);
	}
}

void
view_leave_table(Oid relid)
{
	foreach_ptr (ObjectAddress, object, table_dependents(relid))
		catalog_object_delete(object);
}
