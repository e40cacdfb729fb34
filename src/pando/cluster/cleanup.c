/*
 * cleanup.c: dropping what pg_dist_cleanup says is no longer used.
 *
 * Moves are transactions and leave nothing behind, so nothing here writes records: those
 * that are there come from administrators or their tools. A record goes away together
 * with its object, or with the node that had it; a node that can't be reached is an error
 * and all records stay.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"

#include "pando/catalog/cleanup.h"
#include "pando/metadata/node.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(citus_cleanup_orphaned_resources);

/* pg_dist_cleanup.object_type */
#define CLEANUP_TABLE 1

static const DistNode *
node_of_group(int32 group)
{
	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		if (node->group == group)
			return node;
	}
	return NULL;
}

Datum
citus_cleanup_orphaned_resources(PG_FUNCTION_ARGS)
{
	int dropped = 0;

	node_require_coordinator();
	foreach_ptr (CleanupRow, row, catalog_cleanup_all())
	{
		const DistNode *node = node_of_group(row->node_group_id);

		if (row->object_type != CLEANUP_TABLE)
			continue;
		if (node != NULL)
			xact_run_on_nodes(
				list_make1((void *) node),
				psprintf("DROP TABLE IF EXISTS %s CASCADE", row->object_name));
		catalog_cleanup_delete(row->record_id);
		dropped++;
	}
	if (dropped > 0)
		ereport(NOTICE, (errmsg("cleaned up %d orphaned resources", dropped)));
	PG_RETURN_VOID();
}
