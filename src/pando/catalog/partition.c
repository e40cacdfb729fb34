/*
 * partition.c: rows of pg_dist_partition.
 */
#include "pando/compat/compat.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/partition.h"

static const CatalogColumn partition_columns[] = {
	{"logicalrelid", COLUMN_OID, offsetof(PartitionRow, logicalrelid)},
	{"partmethod", COLUMN_CHAR, offsetof(PartitionRow, partmethod)},
	{"partkey", COLUMN_TEXT, offsetof(PartitionRow, partkey)},
	{"colocationid", COLUMN_INT4, offsetof(PartitionRow, colocationid)},
	{"repmodel", COLUMN_CHAR, offsetof(PartitionRow, repmodel)},
	{"autoconverted", COLUMN_BOOL, offsetof(PartitionRow, autoconverted)},
};
static const Catalog partition_catalog =
	CATALOG_OF("pg_dist_partition", PartitionRow, partition_columns);
static const char *const partition_key_index = "pg_dist_partition_pkey";

PartitionRow *
catalog_partition_by_relid(Oid relid)
{
	CatalogKey key = KEY_OID("logicalrelid", relid);

	return catalog_find(&partition_catalog, partition_key_index, 1, &key);
}

List *
catalog_partition_all(void)
{
	return catalog_scan(&partition_catalog, partition_key_index, 0, NULL);
}

List *
catalog_partition_by_colocation(int32 colocationid)
{
	CatalogKey key = KEY_INT4("colocationid", colocationid);

	return catalog_scan(&partition_catalog, "pg_dist_partition_colocationid_index", 1,
						&key);
}

void
catalog_partition_insert(const PartitionRow *row)
{
	catalog_insert(&partition_catalog, row);
	catalog_invalidate(row->logicalrelid);
}

bool
catalog_partition_update(const PartitionRow *row)
{
	CatalogKey key = KEY_OID("logicalrelid", row->logicalrelid);
	bool found = catalog_update(&partition_catalog, partition_key_index, 1, &key, row);

	catalog_invalidate(row->logicalrelid);
	return found;
}

bool
catalog_partition_delete(Oid relid)
{
	CatalogKey key = KEY_OID("logicalrelid", relid);
	bool found = catalog_delete(&partition_catalog, partition_key_index, 1, &key) > 0;

	catalog_invalidate(relid);
	return found;
}
