/*
 * cleanup.c: rows of pg_dist_cleanup.
 */
#include "pando/compat/compat.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/cleanup.h"

static const CatalogColumn cleanup_columns[] = {
	{"record_id", COLUMN_INT8, offsetof(CleanupRow, record_id)},
	{"operation_id", COLUMN_INT8, offsetof(CleanupRow, operation_id)},
	{"object_type", COLUMN_INT4, offsetof(CleanupRow, object_type)},
	{"object_name", COLUMN_TEXT, offsetof(CleanupRow, object_name)},
	{"node_group_id", COLUMN_INT4, offsetof(CleanupRow, node_group_id)},
	{"policy_type", COLUMN_INT4, offsetof(CleanupRow, policy_type)},
};
static const Catalog cleanup_catalog =
	CATALOG_OF("pg_dist_cleanup", CleanupRow, cleanup_columns);
static const char *const cleanup_key_index = "pg_dist_cleanup_pkey";

List *
catalog_cleanup_all(void)
{
	return catalog_scan(&cleanup_catalog, cleanup_key_index, 0, NULL);
}

int64
catalog_cleanup_next_operation(void)
{
	return catalog_nextval("pg_dist_operationid_seq");
}

void
catalog_cleanup_add(CleanupRow *row)
{
	row->record_id = catalog_nextval("pg_dist_cleanup_recordid_seq");
	catalog_insert(&cleanup_catalog, row);
}

bool
catalog_cleanup_delete(int64 record_id)
{
	CatalogKey key = KEY_INT8("record_id", record_id);

	return catalog_delete(&cleanup_catalog, cleanup_key_index, 1, &key) > 0;
}
