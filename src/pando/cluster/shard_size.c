/*
 * shard_size.c: how large shards are on disk.
 */
#include "pando/compat/compat.h"

#include <limits.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/cluster/move.h"
#include "pando/cluster/shard_size.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(citus_shard_cost_by_disk_size);

static int base_cost = 0;

/* What shard_sizes_ask() learned; NULL: nothing was asked. */
static HTAB *known = NULL;

typedef struct KnownSize
{
	int64 shard_id;
	int64 bytes;
} KnownSize;

void
shard_size_init(void)
{
	DefineCustomIntVariable(
		"citus.rebalancer_by_disk_size_base_cost",
		"Bytes that a shard group counts for besides its own in the "
		"strategy by_disk_size.",
		"It keeps the number of small shards on the nodes in balance, too.", &base_cost,
		100 * 1024 * 1024, 0, INT_MAX, PGC_USERSET, GUC_UNIT_BYTE, NULL, NULL, NULL);
}

static void
sizes_forget(void *arg)
{
	known = NULL;
}

/* A node's answer: {"102008": 8192, "102009": null, ...} */
static void
take_sizes(const char *text)
{
	while (text != NULL && (text = strchr(text, '"')) != NULL)
	{
		char *end;
		int64 shard_id = strtoll(text + 1, &end, 10);
		KnownSize *size;

		if (strncmp(end, "\": ", 3) != 0)
			break;
		text = end + 3;
		if (*text < '0' || *text > '9')
			continue;
		size = hash_search(known, &shard_id, HASH_ENTER, NULL);
		size->bytes = strtoll(text, NULL, 10);
	}
}

/* The array of the tables' shards as an SQL literal. */
static char *
shard_array(List *tables)
{
	StringInfoData ids;
	ListCell *cell;

	if (tables == NIL)
		return "NULL";
	initStringInfo(&ids);
	foreach (cell, tables)
	{
		const DistTable *table = dist_table_require(lfirst_oid(cell));

		for (int i = 0; i < table->nshards; i++)
			appendStringInfo(&ids, "%s" INT64_FORMAT, ids.len == 0 ? "'{" : ",",
							 table->shards[i].id);
	}
	appendStringInfoString(&ids, ids.len == 0 ? "'{}'" : "}'");
	return ids.data;
}

void
shard_sizes_ask(List *tables)
{
	HASHCTL control = {.keysize = sizeof(int64),
					   .entrysize = sizeof(KnownSize),
					   .hcxt = CurrentMemoryContext};
	MemoryContextCallback *forget = palloc0(sizeof(MemoryContextCallback));
	List *nodes = node_list(NODES_ALL);
	List *commands = NIL;
	char *sql =
		psprintf("SELECT pando.local_placement_sizes('total', %s)", shard_array(tables));

	foreach_ptr (const DistNode, node, nodes)
	{
		(void) node;
		commands = lappend(commands, sql);
	}
	forget->func = sizes_forget;
	known = hash_create("pando shard sizes", 256, &control,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	MemoryContextRegisterResetCallback(CurrentMemoryContext, forget);
	foreach_ptr (char, sizes, xact_values_for_plan(nodes, commands))
		take_sizes(sizes);
}

int64
shard_size(const DistTable *table, int index)
{
	const Shard *shard = &table->shards[index];
	const KnownSize *size;
	char *sql;
	char *value;

	if (shard->nplacements == 0)
		return 0;
	size = known == NULL ? NULL : hash_search(known, &shard->id, HASH_FIND, NULL);
	if (size != NULL)
		return size->bytes;
	sql = psprintf("SELECT pg_catalog.pg_total_relation_size("
				   "pg_catalog.to_regclass(%s))",
				   quote_literal_cstr(shard_table_name(table, shard->id)));
	if (shard->placements[0].group == node_local_group())
		value = sql_value("%s", sql);
	else
		value = xact_value_from_node(node_by_group(shard->placements[0].group), sql);
	return value == NULL ? 0 : pg_strtoint64(value);
}

/* Cost of a shard group in the strategy by_disk_size: its bytes, and the base cost; at
 * least one. */
Datum
citus_shard_cost_by_disk_size(PG_FUNCTION_ARGS)
{
	int64 shard_id = PG_GETARG_INT64(0);
	const DistTable *table;
	const Shard *shard = shard_by_id(shard_id, &table);
	int64 bytes = 0;
	ListCell *cell;

	if (shard == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("could not find valid entry for shard %lld",
							   (long long) shard_id)));
	foreach (cell, shard_group_tables(table))
		bytes += shard_size(dist_table_require(lfirst_oid(cell)), shard->index);
	PG_RETURN_FLOAT4(Max(bytes + base_cost, 1));
}
