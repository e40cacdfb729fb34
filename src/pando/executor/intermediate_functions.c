/*
 * intermediate_functions.c: SQL functions that make intermediate results and bring them
 * from node to node.
 *
 * They are those of intermediate.h: the caller's own files, gone at the end of the
 * transaction. A result is fetched by having its node send it, in the transaction.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "pando/base/sql.h"
#include "pando/executor/intermediate.h"
#include "pando/metadata/node.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(create_intermediate_result);
PG_FUNCTION_INFO_V1(broadcast_intermediate_result);
PG_FUNCTION_INFO_V1(fetch_intermediate_results);
PG_FUNCTION_INFO_V1(results_hand_over);

static void
require_block(const char *function)
{
	if (!IsTransactionBlock())
		ereport(ERROR, (errcode(ERRCODE_NO_ACTIVE_SQL_TRANSACTION),
						errmsg("%s can only be used in a transaction block", function)));
}

static void
check_query(const char *query)
{
	List *parsed = pg_parse_query(query);

	if (list_length(parsed) != 1 ||
		!IsA(linitial_node(RawStmt, parsed)->stmt, SelectStmt) ||
		((SelectStmt *) linitial_node(RawStmt, parsed)->stmt)->intoClause != NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("an intermediate result is made by one SELECT")));
}

/* Rows of the query, which are in this node's file then. */
static int64
make_result(const char *name, const char *query)
{
	DestReceiver *writer;
	SPIExecuteOptions options = {0};

	check_query(query);
	writer = result_writer_create(name);
	options.dest = writer;
	SPI_connect();
	(void) SPI_execute_extended(query, &options);
	SPI_finish();
	return (int64) result_writer_rows(writer);
}

/* create_intermediate_result(name, query): how many rows it has */
Datum
create_intermediate_result(PG_FUNCTION_ARGS)
{
	require_block("create_intermediate_result");
	PG_RETURN_INT64(make_result(text_to_cstring(PG_GETARG_TEXT_PP(0)),
								text_to_cstring(PG_GETARG_TEXT_PP(1))));
}

/* broadcast_intermediate_result(name, query): the same, on all nodes */
Datum
broadcast_intermediate_result(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int64 rows;

	require_block("broadcast_intermediate_result");
	rows = make_result(name, text_to_cstring(PG_GETARG_TEXT_PP(1)));
	result_send(name, node_list(NODES_OTHER));
	PG_RETURN_INT64(rows);
}

static List *
names_of_array(ArrayType *array)
{
	Datum *values;
	bool *nulls;
	int count;
	List *names = NIL;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("result name must not be null")));
		names = lappend(names, TextDatumGetCString(values[i]));
	}
	return names;
}

/* results_hand_over(names, group): sends this node's files to another; their bytes */
Datum
results_hand_over(PG_FUNCTION_ARGS)
{
	const DistNode *node = node_by_group(PG_GETARG_INT32(1));
	int64 bytes = 0;

	foreach_ptr (char, name, names_of_array(PG_GETARG_ARRAYTYPE_P(0)))
	{
		off_t size;
		File file = result_file_open(name, false, &size);

		FileClose(file);
		if (node->group != node_local_group())
			result_send(name, list_make1(unconstify(DistNode *, node)));
		bytes += size;
	}
	PG_RETURN_INT64(bytes);
}

/* fetch_intermediate_results(names, host, port): brings them here; their bytes */
Datum
fetch_intermediate_results(PG_FUNCTION_ARGS)
{
	char *host = text_to_cstring(PG_GETARG_TEXT_PP(1));
	const DistNode *node = node_by_name(host, PG_GETARG_INT32(2));
	List *names = names_of_array(PG_GETARG_ARRAYTYPE_P(0));
	StringInfoData sql;
	char *bytes;

	require_block("fetch_intermediate_results");
	if (node == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("%s:%d is not a node", host, PG_GETARG_INT32(2))));
	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT pando.results_hand_over(");
	sql_append_text_array(&sql, names);
	appendStringInfo(&sql, ", %d)", node_local_group());
	bytes = xact_value_from_node(node, sql.data);
	PG_RETURN_INT64(bytes != NULL ? pg_strtoint64(bytes) : 0);
}
