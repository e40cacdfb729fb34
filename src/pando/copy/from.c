/*
 * from.c: COPY FROM into a distributed table.
 *
 * PostgreSQL's own COPY reads the input (any source, format and option); only what it
 * does with rows is replaced. Two ways:
 *
 * - Rows: each line becomes a row (defaults and WHERE are evaluated here) and goes on as
 * one.
 * - Lines: where nothing but the distribution column has to be known, only that field is
 *   converted and the line itself is forwarded; the node that stores the row parses it.
 * That is when the format is text or CSV, there is no WHERE, no column is left to a
 * default, and this node holds no placement of the table.
 *
 * Errors name the line of the input, wherever they are found (line.h).
 *
 * Where the table's triggers fire here, the rows are those of an INSERT that follows.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "commands/copy.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "pando/compat/copy_defaults.h"
#include "pando/compat/rights.h"
#include "pando/copy/append.h"
#include "pando/copy/from.h"
#include "pando/copy/line.h"
#include "pando/copy/shard_route.h"
#include "pando/metadata/sequence_value.h"
#include "pando/metadata/table.h"
#include "pando/transaction/access.h"

/* By this name an INSERT reads the rows of a COPY. */
#define COPIED "copied rows"

/* May the user make the server read a file or run a program? */
static void
check_source_allowed(const CopyStmt *stmt)
{
	const char *hint =
		"Anyone can COPY to stdout or from stdin. psql's \\copy command also "
		"works for anyone.";

	if (stmt->filename == NULL)
		return;
	if (stmt->is_program &&
		!has_privs_of_role(GetUserId(), ROLE_PG_EXECUTE_SERVER_PROGRAM))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser or have privileges of the "
						"pg_execute_server_program role to COPY to or from an external "
						"program"),
				 errhint("%s", hint)));
	if (!stmt->is_program && !has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("must be superuser or have privileges of the "
							   "pg_read_server_files role to COPY from a file"),
						errhint("%s", hint)));
}

/* The WHERE clause as a list of conditions over the table's columns. */
static List *
where_conditions(ParseState *pstate, Relation rel, Node *clause)
{
	Bitmapset *columns = NULL;
	Node *where = transformExpr(pstate, clause, EXPR_KIND_COPY_WHERE);
	int member = -1;

	where = coerce_to_boolean(pstate, where, "WHERE");
	assign_expr_collations(pstate, where);

	pull_varattnos(where, 1, &columns);
	if (bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, columns))
		columns = bms_add_range(columns, 1 - FirstLowInvalidHeapAttributeNumber,
								RelationGetNumberOfAttributes(rel) -
									FirstLowInvalidHeapAttributeNumber);
	while ((member = bms_next_member(columns, member)) >= 0)
	{
		AttrNumber attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum > 0 && TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attgenerated)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 errmsg("generated columns are not supported in COPY FROM WHERE "
							"conditions"),
					 errdetail("Column \"%s\" is a generated column.",
							   get_attname(RelationGetRelid(rel), attnum, false))));
	}

	where = eval_const_expressions(NULL, where);
	return make_ands_implicit(canonicalize_qual((Expr *) where, false));
}

Relation
copy_target_open(const CopyStmt *stmt, ParseState *pstate, LOCKMODE lockmode,
				 bool columns_checked, List **conditions)
{
	Relation rel = table_openrv(stmt->relation, lockmode);
	ParseNamespaceItem *item =
		addRangeTableEntryForRelation(pstate, rel, lockmode, NULL, false, false);
	RangeTblEntry *rte = item->p_rte;
	RelationRights *rights = parse_rights(pstate, item);
	List *attnums = CopyGetAttnums(RelationGetDescr(rel), rel, stmt->attlist);
	ListCell *cell;

	rights->requiredPerms = ACL_INSERT;
	foreach (cell, columns_checked ? NIL : attnums)
		rights->insertedCols = bms_add_member(
			rights->insertedCols, lfirst_int(cell) - FirstLowInvalidHeapAttributeNumber);

	/* WHERE adds the columns that it reads to what has to be permitted. */
	*conditions = NIL;
	if (stmt->whereClause != NULL)
	{
		addNSItemToQuery(pstate, item, false, true, true);
		*conditions = where_conditions(pstate, rel, stmt->whereClause);
	}
	compat_check_rights(pstate);

	if (check_enable_rls(rte->relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("COPY FROM not supported with row-level security"),
						errhint("Use INSERT statements instead.")));
	if (XactReadOnly)
		PreventCommandIfReadOnly("COPY FROM");
	return rel;
}

/*
 * FREEZE is a permission to store rows frozen, where nobody can tell the difference. The
 * shards' rows are not, but where PostgreSQL refuses, so do we.
 */
static void
check_freeze_allowed(Relation rel)
{
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot perform COPY FREEZE on a partitioned table")));

	InvalidateCatalogSnapshot();
	if (!ThereAreNoPriorRegisteredSnapshots() || !ThereAreNoReadyPortals())
		ereport(ERROR, (errcode(ERRCODE_INVALID_TRANSACTION_STATE),
						errmsg("cannot perform COPY FREEZE because of prior transaction "
							   "activity")));
	if (rel->rd_createSubid != GetCurrentSubTransactionId() &&
		compat_new_file_subid(rel) != GetCurrentSubTransactionId())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot perform COPY FREEZE because the table was not created "
						"or truncated in the current subtransaction")));
}

/* Can the lines be forwarded as they are? */
static bool
may_forward_lines(CopyFromState source, const DistTable *table, List *conditions)
{
	TupleDesc desc = RelationGetDescr(source->rel);

	if (source->opts.binary || conditions != NIL || source->num_defaults > 0 ||
		source->convert_select_flags != NULL || shard_route_has_local(table))
		return false;
	if (AttributeNumberIsValid(table->key) &&
		!list_member_int(source->attnumlist, table->key))
		return false;

	/* A domain's default or check is the node's to evaluate only if it comes in the line.
	 */
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && !att->attgenerated &&
			!list_member_int(source->attnumlist, i + 1) &&
			get_typtype(att->atttypid) == TYPTYPE_DOMAIN)
			return false;
	}
	return true;
}

static void
append_column_option(StringInfo sql, const char *name, List *columns)
{
	ListCell *cell;

	if (columns == NIL)
		return;
	appendStringInfo(sql, ", %s (", name);
	foreach (cell, columns)
		appendStringInfo(sql, "%s%s", cell == list_head(columns) ? "" : ", ",
						 quote_identifier(strVal(lfirst(cell))));
	appendStringInfoChar(sql, ')');
}

static void
append_text_option(StringInfo sql, const char *name, const char *value)
{
	if (value != NULL)
		appendStringInfo(sql, ", %s %s", name, quote_literal_cstr(value));
}

/* Options with which a node reads forwarded lines: they are in this server's encoding. */
static char *
line_options(CopyFromState source)
{
	CopyFormatOptions *opts = &source->opts;
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "format %s", opts->csv_mode ? "csv" : "text");
	append_text_option(&sql, "encoding", GetDatabaseEncodingName());
	append_text_option(&sql, "delimiter", opts->delim);
	append_text_option(&sql, "null", opts->null_print);
	if (opts->csv_mode)
	{
		append_text_option(&sql, "quote", opts->quote);
		append_text_option(&sql, "escape", opts->escape);
		append_column_option(&sql, "force_not_null", opts->force_notnull);
		append_column_option(&sql, "force_null", opts->force_null);
	}
	return sql.data;
}

/* Forwards the lines; returns the rows stored. */
static uint64
forward_lines(CopyFromState source, const DistTable *table, int shard, CopyLine *line)
{
	ShardRoute *route = shard_route_lines(table, source->rel, source->attnumlist,
										  line_options(source), shard, line);
	MemoryContext row_context =
		AllocSetContextCreate(CurrentMemoryContext, "COPY line", ALLOCSET_DEFAULT_SIZES);
	int at = table->key - 1;
	int key_field = -1;
	uint64 count = 0;
	char **fields;
	int nfields;
	ListCell *cell;

	foreach (cell, source->attnumlist)
	{
		if (lfirst_int(cell) == table->key)
			key_field = foreach_current_index(cell);
	}

	for (;;)
	{
		MemoryContext old;
		Datum key = (Datum) 0;
		char *text = NULL;

		CHECK_FOR_INTERRUPTS();
		line->number = source->cur_lineno + 1;
		if (source->cur_lineno == 0 && source->opts.header_line)
			line->number++;
		MemoryContextReset(row_context);
		old = MemoryContextSwitchTo(row_context);
		if (!NextCopyFromRawFields(source, &fields, &nfields))
		{
			MemoryContextSwitchTo(old);
			break;
		}

		if (key_field >= 0)
		{
			Form_pg_attribute att = TupleDescAttr(RelationGetDescr(source->rel), at);

			if (key_field >= nfields)
				ereport(ERROR, (errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
								errmsg("missing data for column \"%s\"",
									   NameStr(att->attname))));
			text = fields[key_field];
			if (source->opts.csv_mode && text == NULL &&
				source->opts.force_notnull_flags[at])
				text = source->opts.null_print;
			else if (source->opts.csv_mode && text != NULL &&
					 source->opts.force_null_flags[at] &&
					 strcmp(text, source->opts.null_print) == 0)
				text = NULL;
			source->cur_attname = NameStr(att->attname);
			source->cur_attval = text;
			key = InputFunctionCall(&source->in_functions[at], text,
									source->typioparams[at], att->atttypmod);
			source->cur_attname = NULL;
			source->cur_attval = NULL;
		}
		MemoryContextSwitchTo(old);
		shard_route_line(route, key, key_field >= 0 && text == NULL,
						 source->line_buf.data, source->line_buf.len);
		pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED, ++count);
	}
	return shard_route_finish(route);
}

typedef struct RowSink
{
	void (*put)(void *into, TupleTableSlot *row);
	void *into;
} RowSink;

/* Decodes the rows. */
static void
each_row(CopyFromState source, List *conditions, CopyLine *line, RowSink sink)
{
	EState *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	TupleTableSlot *row =
		MakeSingleTupleTableSlot(RelationGetDescr(source->rel), &TTSOpsVirtual);
	ExprState *where = ExecPrepareQual(conditions, estate);
	uint64 count = 0;
	uint64 excluded = 0;

	econtext->ecxt_scantuple = row;
	for (;;)
	{
		MemoryContext old;
		bool more;

		CHECK_FOR_INTERRUPTS();
		ResetPerTupleExprContext(estate);
		ExecClearTuple(row);
		old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
		more = NextCopyFrom(source, econtext, row->tts_values, row->tts_isnull);
		MemoryContextSwitchTo(old);
		if (!more)
			break;
		ExecStoreVirtualTuple(row);
		row->tts_tableOid = RelationGetRelid(source->rel);
		line->number = source->cur_lineno;

		if (where != NULL && !ExecQual(where, econtext))
		{
			pgstat_progress_update_param(PROGRESS_COPY_TUPLES_EXCLUDED, ++excluded);
			continue;
		}
		sink.put(sink.into, row);
		pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED, ++count);
	}
	ExecDropSingleTupleTableSlot(row);
	FreeExecutorState(estate);
}

static void
put_to_shards(void *route, TupleTableSlot *row)
{
	shard_route_row(route, row);
}

/* Sends decoded rows; returns the rows stored. */
static uint64
send_rows(CopyFromState source, const DistTable *table, int shard, List *conditions,
		  CopyLine *line)
{
	ShardRoute *route =
		shard_route_rows(table, source->rel,
						 shard_route_columns(RelationGetDescr(source->rel)), shard, line);
	RowSink sink = {put_to_shards, route};

	each_row(source, conditions, line, sink);
	return shard_route_finish(route);
}

/* ------------------------------------------------------------------------------------
 * Rows that fire triggers here are those of an INSERT.
 */

static void
put_aside(void *rows, TupleTableSlot *row)
{
	tuplestore_puttupleslot(rows, row);
}

static char *
insert_command(Relation rel)
{
	TupleDesc desc = RelationGetDescr(rel);
	StringInfoData columns;

	initStringInfo(&columns);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (!attr->attisdropped && !attr->attgenerated)
			appendStringInfo(&columns, "%s%s", columns.len > 0 ? ", " : "",
							 quote_identifier(NameStr(attr->attname)));
	}
	return psprintf(
		"INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM \"" COPIED "\"",
		quote_qualified_identifier(get_namespace_name(rel->rd_rel->relnamespace),
								   RelationGetRelationName(rel)),
		columns.data, columns.data);
}

/* What COPY has checked is that the client may insert into the columns that came: the
 * INSERT names all. */
static int
execute_as_checked(const char *sql)
{
	AccessHere before =
		access_here((AccessHere){.sql = sql, .roles = list_make1_oid(GetUserId())});
	int result;

	PG_TRY();
	{
		result = SPI_execute(sql, false, 0);
	}
	PG_FINALLY();
	{
		(void) access_here(before);
	}
	PG_END_TRY();
	return result;
}

/* Runs the INSERT; returns the rows stored. */
static uint64
insert_rows(Relation rel, Tuplestorestate *rows)
{
	EphemeralNamedRelationData copied = {
		.md = {.name = COPIED,
			   .reliddesc = RelationGetRelid(rel),
			   .enrtype = ENR_NAMED_TUPLESTORE,
			   .enrtuples = tuplestore_tuple_count(rows)},
		.reldata = rows};
	uint64 stored;

	if (SPI_connect() != SPI_OK_CONNECT || SPI_register_relation(&copied) < 0)
		elog(ERROR, "SPI cannot be used");
	if (execute_as_checked(insert_command(rel)) != SPI_OK_INSERT)
		elog(ERROR, "rows could not be inserted");
	stored = SPI_processed;
	SPI_finish();
	return stored;
}

static uint64
fire_for_rows(CopyFromState source, List *conditions, CopyLine *line)
{
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);
	RowSink sink = {put_aside, rows};
	uint64 stored;

	each_row(source, conditions, line, sink);
	line->source = NULL;
	stored = insert_rows(source->rel, rows);
	tuplestore_end(rows);
	return stored;
}

/* Of sequences that give none here the coordinator gives values. */
static void
take_sequence_values(CopyFromState source)
{
	for (int i = 0; i < source->num_defaults; i++)
	{
		AttrNumber attnum = compat_copy_default_column(source, i);
		Node *given = build_column_default(source->rel, attnum);
		Node *expr = sequence_values_of_cluster(given, NULL);

		if (expr != given)
			*compat_copy_default(source, i) =
				ExecInitExpr(expression_planner((Expr *) expr), NULL);
	}
}

uint64
copy_from(const CopyStmt *stmt, const char *query_string)
{
	ParseState *pstate = make_parsestate(NULL);
	CopyLine line = {0};
	ErrorContextCallback context = {.callback = copy_line_callback, .arg = &line};
	const DistTable *table;
	CopyFromState source;
	List *conditions;
	Relation rel;
	uint64 stored;
	int shard;

	pstate->p_sourcetext = query_string;
	check_source_allowed(stmt);
	rel = copy_target_open(stmt, pstate, RowExclusiveLock, false, &conditions);
	table = dist_table_require(RelationGetRelid(rel));
	shard = append_shard_index(table, stmt->options);
	if (shard >= 0 && (table->fires_here & (1 << CMD_INSERT)) != 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("COPY with " APPEND_OPTION
							   " into table \"%s\", which has triggers, is not supported",
							   RelationGetRelationName(rel))));

	source = BeginCopyFrom(pstate, rel, NULL, stmt->filename, stmt->is_program, NULL,
						   stmt->attlist, append_options_left(stmt->options));
	take_sequence_values(source);
	if (source->opts.freeze)
		check_freeze_allowed(rel);

	line.relation = RelationGetRelationName(rel);
	line.source = source;
	context.previous = error_context_stack;
	error_context_stack = &context;
	if ((table->fires_here & (1 << CMD_INSERT)) != 0)
		stored = fire_for_rows(source, conditions, &line);
	else if (may_forward_lines(source, table, conditions))
		stored = forward_lines(source, table, shard, &line);
	else
		stored = send_rows(source, table, shard, conditions, &line);
	error_context_stack = context.previous;

	EndCopyFrom(source);
	table_close(rel, NoLock);
	free_parsestate(pstate);
	return stored;
}
