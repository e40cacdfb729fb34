/*
 * shard_size.c: how large shards are on disk.
 */
#include "pando/compat/compat.h"

#include <limits.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/cluster/move.h"
#include "pando/cluster/shard_size.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(citus_shard_cost_by_disk_size);

static int base_cost = 0;

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

int64
shard_size(const DistTable *table, int index)
{
	const Shard *shard = &table->shards[index];
	char *sql;
	char *value;

	if (shard->nplacements == 0)
		return 0;
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
