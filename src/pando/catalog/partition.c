/*
 * partition.c: rows of pg_dist_partition.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"

#include "pando/base/sql.h"
#include "pando/catalog/catalog.h"
#include "pando/catalog/colocation.h"
#include "pando/catalog/partition.h"
#include "pando/catalog/schema.h"

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

/* What pg_dump keeps of it. */
typedef struct DistributionRow
{
	Oid relation;
	char kind;
	char *column;
	int32 colocation;
	int32 shard_count;
	int32 replication;
	bool apart;
} DistributionRow;

static const CatalogColumn distribution_columns[] = {
	{"relation", COLUMN_OID, offsetof(DistributionRow, relation)},
	{"kind", COLUMN_CHAR, offsetof(DistributionRow, kind)},
	{"distribution_column", COLUMN_TEXT, offsetof(DistributionRow, column)},
	{"colocation", COLUMN_INT4, offsetof(DistributionRow, colocation)},
	{"shard_count", COLUMN_INT4, offsetof(DistributionRow, shard_count)},
	{"replication", COLUMN_INT4, offsetof(DistributionRow, replication)},
	{"apart", COLUMN_BOOL, offsetof(DistributionRow, apart)},
};
static const Catalog distribution_catalog =
	CATALOG_OF("distribution", DistributionRow, distribution_columns);
static const char *const distribution_key_index = "distribution_pkey";

static char
kind_of(const PartitionRow *row)
{
	if (row->partmethod == PARTMETHOD_HASH)
		return 'h';
	if (row->repmodel == REPMODEL_REFERENCE)
		return 'r';
	if (row->colocationid == 0)
		return 'l';
	return catalog_schema_has_colocation(row->colocationid) ? 't' : 's';
}

static void
distribution_forget(Oid relid)
{
	CatalogKey key = KEY_OID("relation", relid);

	(void) catalog_delete(&distribution_catalog, distribution_key_index, 1, &key);
}

/* The row of pando.distribution follows that of pg_dist_partition. */
static void
distribution_note(const PartitionRow *row)
{
	const ColocationRow *group = catalog_colocation_by_id(row->colocationid);
	DistributionRow distribution = {.relation = row->logicalrelid,
									.kind = kind_of(row),
									.column = row->partkey,
									.colocation = row->colocationid,
									.shard_count = group != NULL ? group->shardcount : 1,
									.replication =
										group != NULL ? group->replicationfactor : 1};

	distribution.apart =
		sql_value("SELECT 1 FROM pando.colocation_private WHERE colocationid = %d",
				  row->colocationid) != NULL;
	distribution_forget(row->logicalrelid);
	CommandCounterIncrement();
	catalog_insert(&distribution_catalog, &distribution);
}

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
	distribution_note(row);
	catalog_invalidate(row->logicalrelid);
}

bool
catalog_partition_update(const PartitionRow *row)
{
	CatalogKey key = KEY_OID("logicalrelid", row->logicalrelid);
	bool found = catalog_update(&partition_catalog, partition_key_index, 1, &key, row);

	if (found)
		distribution_note(row);
	catalog_invalidate(row->logicalrelid);
	return found;
}

bool
catalog_partition_delete(Oid relid)
{
	CatalogKey key = KEY_OID("logicalrelid", relid);
	bool found = catalog_delete(&partition_catalog, partition_key_index, 1, &key) > 0;

	if (found)
		distribution_forget(relid);
	catalog_invalidate(relid);
	return found;
}
