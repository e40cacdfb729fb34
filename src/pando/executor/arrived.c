/*
 * arrived.c: shards that have come to this node after a transaction's snapshot.
 *
 * A transaction of REPEATABLE READ or SERIALIZABLE keeps its snapshot on each node. Rows
 * of a shard that a later transaction has brought here are not in it: to read none of
 * them would be wrong, so the transaction fails and is tried again. Which shards were
 * here then the same snapshot tells, of pg_dist_placement; and of pg_class, whether it
 * was the same table: a shard that left and has come back is another one.
 */
#include "pando/compat/compat.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "pando/base/hook.h"
#include "pando/base/sql.h"
#include "pando/executor/arrived.h"
#include "pando/metadata/shard_relation.h"

static LocalTransactionId seen_by = InvalidLocalTransactionId;
static List *seen = NIL; /* relations that are found in the transaction's snapshot */

/* Shards among the statement's relations that were not looked at before: their ids and
 * tables, as two functions that return them; NULL: there are none. found: the tables. */
static char *
new_shards(const PlannedStmt *stmt, List **found)
{
	StringInfoData ids;
	StringInfoData relids;

	initStringInfo(&ids);
	initStringInfo(&relids);
	foreach_ptr (RangeTblEntry, rte, stmt->rtable)
	{
		int64 shard_id;
		const DistTable *table;
		int index;

		/* One that the metadata don't have here yet is only being made. */
		if (rte->rtekind != RTE_RELATION || list_member_oid(seen, rte->relid) ||
			!relation_is_shard(rte->relid, &shard_id, NULL))
			continue;
		index = shard_by_id(shard_id, &table)->index;
		if (!shard_is_local(table, index))
			continue;
		appendStringInfo(&ids, "%s" INT64_FORMAT, ids.len == 0 ? "" : ",", shard_id);
		appendStringInfo(&relids, "%s%u", relids.len == 0 ? "" : ",", rte->relid);
		*found = lappend_oid(*found, rte->relid);
	}
	return ids.len == 0 ? NULL
						: psprintf("pg_catalog.unnest('{%s}'::pg_catalog.int8[]), "
								   "pg_catalog.unnest('{%s}'::pg_catalog.oid[])",
								   ids.data, relids.data);
}

static void
require_seen(const PlannedStmt *stmt)
{
	List *found = NIL;
	MemoryContext old;
	char *shards;
	char *missing;

	if (seen_by != compat_local_xid())
	{
		seen_by = compat_local_xid();
		seen = NIL;
	}
	shards = new_shards(stmt, &found);
	if (shards == NULL)
		return;
	missing = sql_value(
		"SELECT s.id FROM ROWS FROM (%s) s(id, relid) WHERE NOT "
		"EXISTS (SELECT FROM pg_catalog.pg_dist_placement p JOIN "
		"pg_catalog.pg_dist_local_group l USING (groupid) WHERE p.shardid = s.id) OR NOT "
		"EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = s.relid) LIMIT 1",
		shards);
	if (missing != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access: shard %s has come to this node "
						"after the transaction's snapshot",
						missing),
				 errhint("The transaction might succeed if retried.")));
	old = MemoryContextSwitchTo(TopTransactionContext);
	seen = list_concat_unique_oid(seen, found);
	MemoryContextSwitchTo(old);
}

static void
arrived_start(QueryDesc *query, int eflags)
{
	if (IsolationUsesXactSnapshot() && !IsParallelWorker() &&
		(eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		require_seen(query->plannedstmt);
	hook_start_next(START_ARRIVED, query, eflags);
}

/* Registers a part of each statement's start. */
void
arrived_init(void)
{
	hook_start(START_ARRIVED, arrived_start);
}
