/*
 * statistics.c: what a node or a table measures.
 */
#include "pando/compat/compat.h"

#include <sys/statvfs.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/base/sql.h"
#include "pando/catalog/placement.h"
#include "pando/catalog/shard.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(citus_local_disk_space_stats);
PG_FUNCTION_INFO_V1(placements_set_length);
PG_FUNCTION_INFO_V1(citus_update_table_statistics);

/* Bytes that are free, and all, in the file system of the data directory. */
Datum
citus_local_disk_space_stats(PG_FUNCTION_ARGS)
{
	TupleDesc desc;
	struct statvfs stats;
	Datum values[2];
	bool nulls[2] = {false, false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (statvfs(DataDir, &stats) != 0)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not read the file system of \"%s\": %m", DataDir)));
	values[0] = Int64GetDatum((int64) stats.f_bavail * stats.f_frsize);
	values[1] = Int64GetDatum((int64) stats.f_blocks * stats.f_frsize);
	PG_RETURN_DATUM(
		HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

static void
require_owner(Oid relid)
{
	if (!compat_owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
}

/* placements_set_length(placement ids, bytes): on this node's catalog */
Datum
placements_set_length(PG_FUNCTION_ARGS)
{
	Datum *ids, *lengths;
	bool *nulls;
	int n, nlengths;

	xact_require_node("pando.placements_set_length()");
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &ids, &nulls, &n);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &lengths, &nulls, &nlengths);
	for (int i = 0; i < Min(n, nlengths); i++)
	{
		PlacementRow *row = catalog_placement_by_id(DatumGetInt64(ids[i]));
		ShardRow *shard = row != NULL ? catalog_shard_by_id(row->shardid) : NULL;

		if (shard == NULL)
			continue;
		require_owner(shard->logicalrelid);
		row->shardlength = DatumGetInt64(lengths[i]);
		catalog_placement_update(row);
	}
	CommandCounterIncrement();
	PG_RETURN_VOID();
}

/* Measures all placements of a table and notes their sizes in the metadata of all nodes.
 */
Datum
citus_update_table_statistics(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	char *arrays;

	dist_table_require(relid);
	require_owner(relid);
	arrays = sql_value(
		"SELECT pg_catalog.format('%%L, %%L', pg_catalog.array_agg(p.placementid), "
		"pg_catalog.array_agg(z.size)) "
		"FROM pando.placement_sizes('table', %u::pg_catalog.regclass, true) z "
		"JOIN pg_catalog.pg_dist_placement p USING (shardid, groupid)",
		relid);
	if (arrays != NULL && strncmp(arrays, "NULL", 4) != 0)
		xact_tell_nodes(node_list(NODES_ALL),
						psprintf("SELECT pando.placements_set_length(%s)", arrays));
	PG_RETURN_VOID();
}
