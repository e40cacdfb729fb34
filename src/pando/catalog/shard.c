/*
 * shard.c: rows of pg_dist_shard.
 */
#include "pando/compat/compat.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/shard.h"

static const CatalogColumn shard_columns[] = {
	{"logicalrelid", COLUMN_OID, offsetof(ShardRow, logicalrelid)},
	{"shardid", COLUMN_INT8, offsetof(ShardRow, shardid)},
	{"shardstorage", COLUMN_CHAR, offsetof(ShardRow, shardstorage)},
	{"shardminvalue", COLUMN_TEXT, offsetof(ShardRow, shardminvalue)},
	{"shardmaxvalue", COLUMN_TEXT, offsetof(ShardRow, shardmaxvalue)},
};
static const Catalog shard_catalog = CATALOG_OF("pg_dist_shard", ShardRow, shard_columns);
static const char *const shard_key_index = "pg_dist_shard_pkey";

int64
catalog_shard_next_id(void)
{
	return catalog_nextval("pg_dist_shardid_seq");
}

ShardRow *
catalog_shard_by_id(int64 shardid)
{
	CatalogKey key = KEY_INT8("shardid", shardid);

	return catalog_find(&shard_catalog, shard_key_index, 1, &key);
}

List *
catalog_shard_by_relid(Oid relid)
{
	CatalogKey key = KEY_OID("logicalrelid", relid);

	return catalog_scan(&shard_catalog, "pg_dist_shard_logicalrelid_index", 1, &key);
}

void
catalog_shard_insert(const ShardRow *row)
{
	catalog_insert(&shard_catalog, row);
	catalog_invalidate(row->logicalrelid);
}

void
catalog_shard_update(const ShardRow *row)
{
	CatalogKey key = KEY_INT8("shardid", row->shardid);

	catalog_update(&shard_catalog, shard_key_index, 1, &key, row);
	catalog_invalidate(row->logicalrelid);
}

bool
catalog_shard_delete(int64 shardid)
{
	CatalogKey key = KEY_INT8("shardid", shardid);
	ShardRow *row = catalog_shard_by_id(shardid);

	if (row == NULL)
		return false;
	catalog_delete(&shard_catalog, shard_key_index, 1, &key);
	catalog_invalidate(row->logicalrelid);
	return true;
}
