/*
 * local_table.c: managed local tables (see local_table.h).
 *
 * The other nodes have an empty shell of the table, and metadata that say: one shard,
 * placed on the coordinator (group 0). The shard's table is the coordinator's table
 * itself, under its own name, so a statement through a worker is sent there and is then
 * PostgreSQL's, with all that the table has: triggers, rules, policies, foreign keys. On
 * the coordinator the planner and the executor leave the table alone
 * (TABLE_MANAGED_LOCAL).
 *
 * A partitioned table is one with all its partitions, of whichever level: each is managed
 * by itself, and the shells are partitioned as the tables are, so that PostgreSQL changes
 * those of partitions where it does so with the tables.
 *
 * Locks: whoever changes the table's definition locks the other nodes' shells before the
 * table itself (local_shells_lock()): a statement on another node locks its shell first,
 * too, and the table when it gets there.
 */
#include "pando/compat/compat.h"
#include "storage/lockdefs.h"

#include "pando/cluster/convert.h"
#include "pando/cluster/group_copy.h"
#include "pando/cluster/local_table.h"
#include "pando/cluster/partitions.h"
#include "pando/cluster/shards.h"
#include "pando/ddl/local_key.h"
#include "pando/ddl/local_shell.h"
#include "pando/ddl/table_def.h"
#include "pando/ddl/view.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

bool
is_managed_local(Oid relid)
{
	const DistTable *table = dist_table(relid);

	return table != NULL && table->kind == TABLE_MANAGED_LOCAL;
}

bool
is_managed_elsewhere(Oid relid)
{
	const DistTable *table = dist_table(relid);

	return table != NULL && table->managed_local && !node_is_coordinator();
}

static void
local_table_manage(Oid relid)
{
	TableSpec spec = {.relid = relid, .kind = TABLE_MANAGED_LOCAL, .replication = 1};

	convert_make_shells(relid, true);
	shards_register_table(&spec);
	local_keys_follow(relid);
	view_follow_table(relid);
}

void
local_tables_manage(List *relids)
{
	node_require_listed_coordinator();
	list_sort(relids, table_depth_cmp);
	foreach_oid(relid, relids) local_table_manage(relid);
}

void
local_table_release(Oid relid)
{
	List *relids = partition_tree(relid, NoLock);

	local_shells_lock(relid, AccessExclusiveLock);
	foreach_oid(each, relids)
	{
		local_keys_forget(each);
		convert_unregister(each);
	}
	convert_drop_shells(relids);
}
