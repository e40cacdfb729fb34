/*
 * cleanup.h: rows of pg_dist_cleanup: things to drop once nothing uses them.
 */
#ifndef PANDO_CATALOG_CLEANUP_H
#define PANDO_CATALOG_CLEANUP_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

typedef struct CleanupRow
{
	int64 record_id;
	int64 operation_id;
	int32 object_type;
	char *object_name;
	int32 node_group_id;
	int32 policy_type;
} CleanupRow;

/* In order of record id. */
extern List *catalog_cleanup_all(void);
extern int64 catalog_cleanup_next_operation(void);
extern void catalog_cleanup_add(CleanupRow *row); /* chooses its record_id */
extern bool catalog_cleanup_delete(int64 record_id);

#endif
