/*
 * init.c: what the cluster module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "utils/guc.h"

#include "pando/cluster/cleanup.h"
#include "pando/cluster/disk_space.h"
#include "pando/cluster/group_switch.h"
#include "pando/cluster/init.h"
#include "pando/cluster/lost_copy_mark.h"
#include "pando/cluster/move_part.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/new_table.h"
#include "pando/cluster/partitions.h"
#include "pando/cluster/schema.h"
#include "pando/cluster/settings.h"
#include "pando/cluster/shard_size.h"

#define MAX_REPLICATION_FACTOR 100

int setting_shard_count = 32;
int setting_shard_replication_factor = 1;
static char *restored_groups = NULL;

void
cluster_init(void)
{
	move_progress_init();
	cleanup_init();
	group_switch_init();
	disk_space_init();
	shard_size_init();
	lost_copy_mark_init();
	new_table_init();
	schema_init();
	partitions_init();
	move_row_init();
	DefineCustomIntVariable(
		"citus.shard_count", "Number of shards of a newly distributed table.", NULL,
		&setting_shard_count, 32, 1, MAX_SHARD_COUNT, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"citus.shard_replication_factor",
		"Number of placements of each shard of a newly distributed table.", NULL,
		&setting_shard_replication_factor, 1, 1, MAX_REPLICATION_FACTOR, PGC_USERSET, 0,
		NULL, NULL, NULL);
	DefineCustomStringVariable(
		"pando.restored_groups",
		"Which colocation groups of a dump have become which tables'; set by Pando.",
		NULL, &restored_groups, "", PGC_USERSET, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
		NULL, NULL, NULL);
}
