/*
 * shell_stats.c: size and column statistics of shell tables, from the shards'.
 *
 * ANALYZE has been to each shard on its node. Sizes are added up over all nodes; column
 * statistics come from a sample of all shards' rows (shell_sample.c).
 *
 * Autovacuum on the nodes analyses shards by itself. The coordinator's maintenance worker
 * looks at the sums of the shards' row counts, and takes the statistics of a table anew
 * where they have moved away from the shell's by as much as makes autovacuum analyse.
 */
#include "pando/compat/compat.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/table.h"
#include "access/xact.h"
#include "commands/vacuum.h"
#include "postmaster/autovacuum.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/statistics/shell_sample.h"
#include "pando/statistics/shell_size.h"
#include "pando/statistics/shell_stats.h"
#include "pando/transaction/maintenance.h"
#include "pando/transaction/xact.h"

static void
shell_set_size(Oid relid, double pages, double tuples)
{
	Relation shell = table_open(relid, ShareUpdateExclusiveLock);

	vac_update_relstats(shell, (BlockNumber) Min(pages, (double) MaxBlockNumber), tuples,
						0, shell->rd_rel->relhasindex, InvalidTransactionId,
						InvalidMultiXactId, NULL, NULL, false);
	table_close(shell, NoLock);
}

/* Writes the shells' sizes into pg_class. */
static void
shells_take_sizes(List *relids, ShellSize *sizes)
{
	ListCell *cell;

	shell_sizes(relids, INT_MAX, sizes);
	foreach (cell, relids)
	{
		const ShellSize *size = &sizes[foreach_current_index(cell)];

		shell_set_size(lfirst_oid(cell), size->pages_known, size->tuples);
	}
}

void
shell_stats_gather(List *relids)
{
	ShellSize *sizes = palloc0(sizeof(ShellSize) * list_length(relids));
	bool pushed = !ActiveSnapshotSet();
	int guc_level = NewGUCNestLevel();
	ListCell *cell;

	/* the node's own shards are not to be hidden from the queries below */
	set_config_option("citus.override_table_visibility", "off", PGC_USERSET,
					  PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (pushed)
		PushActiveSnapshot(GetTransactionSnapshot());
	shells_take_sizes(relids, sizes);
	CommandCounterIncrement();
	foreach (cell, relids)
	{
		const ShellSize *size = &sizes[foreach_current_index(cell)];

		shell_sample(lfirst_oid(cell), size->pages_known, size->tuples);
	}
	AtEOXact_GUC(true, guc_level);
	CommandCounterIncrement();
	xact_wrote_locally();
	if (pushed && ActiveSnapshotSet())
		PopActiveSnapshot();
}

/* ------------------------------------------------------------------------------------
 * What autovacuum has found out.
 */

#define FOLLOW_INTERVAL_MS 60000
#define FOLLOW_NEXT_MS 1000

/* Of more shards the sizes are asked for less often. */
#define FOLLOW_SHARDS 2000

static int follow_interval = FOLLOW_INTERVAL_MS;

static int
interval_of_following(void)
{
	return follow_interval;
}

static bool
has_moved(Oid relid, double tuples)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double known;

	if (!HeapTupleIsValid(tuple))
		return false;
	known = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
	ReleaseSysCache(tuple);
	return tuples > 0 &&
		   (known < 0 ||
			fabs(tuples - known) > autovacuum_anl_thresh + autovacuum_anl_scale * known);
}

/* Tables with shards, and how many all of them have. */
static List *
tables_to_follow(int *nshards)
{
	List *relids = NIL;

	*nshards = 0;
	foreach_oid(relid, dist_table_oids())
	{
		const DistTable *table = dist_table(relid);

		if (table == NULL || table->kind == TABLE_MANAGED_LOCAL ||
			get_rel_relkind(relid) != RELKIND_RELATION)
			continue;
		relids = lappend_oid(relids, relid);
		*nshards += table->nshards;
	}
	return relids;
}

/* One table at a time: other jobs wait for this one. */
static void
follow_autovacuum(void)
{
	int nshards;
	List *relids;
	ShellSize *sizes;
	ListCell *cell;

	if (!metadata_active() || !node_is_coordinator())
		return;
	relids = tables_to_follow(&nshards);
	follow_interval = FOLLOW_INTERVAL_MS * (1 + nshards / FOLLOW_SHARDS);
	if (relids == NIL)
		return;
	sizes = palloc0(sizeof(ShellSize) * list_length(relids));
	shell_sizes(relids, INT_MAX, sizes);
	foreach (cell, relids)
	{
		if (!has_moved(lfirst_oid(cell), sizes[foreach_current_index(cell)].tuples) ||
			!ConditionalLockRelationOid(lfirst_oid(cell), ShareUpdateExclusiveLock))
			continue;
		shell_stats_gather(list_make1_oid(lfirst_oid(cell)));
		follow_interval = FOLLOW_NEXT_MS;
		return;
	}
}

static const MaintenanceJob following = {
	.name = "statistics of distributed tables",
	.interval = interval_of_following,
	.run = follow_autovacuum,
};

void
shell_stats_init(void)
{
	maintenance_register(&following);
}
