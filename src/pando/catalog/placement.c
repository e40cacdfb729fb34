/*
 * placement.c: rows of pg_dist_placement.
 */
#include "pando/compat/compat.h"

#include "utils/fmgrprotos.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/placement.h"
#include "pando/catalog/shard.h"

static const CatalogColumn placement_columns[] = {
	{"placementid", COLUMN_INT8, offsetof(PlacementRow, placementid)},
	{"shardid", COLUMN_INT8, offsetof(PlacementRow, shardid)},
	{"shardstate", COLUMN_INT4, offsetof(PlacementRow, shardstate)},
	{"shardlength", COLUMN_INT8, offsetof(PlacementRow, shardlength)},
	{"groupid", COLUMN_INT4, offsetof(PlacementRow, groupid)},
};
static const Catalog placement_catalog =
	CATALOG_OF("pg_dist_placement", PlacementRow, placement_columns);
static const char *const placement_key_index = "pg_dist_placement_pkey";
static const char *const placement_group_index = "pg_dist_placement_groupid_index";
static const char *const placement_shard_index = "pg_dist_placement_shardid_groupid_key";

/* Shards whose ids are so near are read by one scan. */
#define SAME_RUN 8

static void
placement_invalidate(int64 shardid)
{
	ShardRow *shard = catalog_shard_by_id(shardid);

	if (shard != NULL)
		catalog_invalidate(shard->logicalrelid);
}

int64
catalog_placement_next_id(void)
{
	return catalog_nextval("pg_dist_placement_placementid_seq");
}

PlacementRow *
catalog_placement_by_id(int64 placementid)
{
	CatalogKey key = KEY_INT8("placementid", placementid);

	return catalog_find(&placement_catalog, placement_key_index, 1, &key);
}

List *
catalog_placement_by_shard(int64 shardid)
{
	CatalogKey key = KEY_INT8("shardid", shardid);

	return catalog_scan(&placement_catalog, placement_shard_index, 1, &key);
}

int64
catalog_placement_fingerprint(int32 groupid)
{
	CatalogKey key = KEY_INT4("groupid", groupid);
	List *rows = catalog_scan(&placement_catalog, placement_group_index, 1, &key);
	int64 hash = 0;

	foreach_ptr (PlacementRow, row, rows)
		hash ^= DatumGetInt64(DirectFunctionCall2(
			hashint8extended, Int64GetDatum(row->placementid), Int64GetDatum(0)));
	list_free_deep(rows);
	return hash;
}

/*
 * The shards of a table were made together as a rule, so that their ids are neighbours:
 * one scan reads the placements of a whole run of them. Those of others' shards in
 * between, few, are left out.
 */
List *
catalog_placement_by_shards(const int64 *shardids, int count)
{
	List *result = NIL;

	for (int first = 0, last; first < count; first = last + 1)
	{
		int at = first;
		List *rows;

		for (last = first; last + 1 < count; last++)
		{
			if (shardids[last + 1] - shardids[last] > SAME_RUN)
				break;
		}
		CatalogKey keys[] = {KEY_INT8_AT_LEAST("shardid", shardids[first]),
							 KEY_INT8_AT_MOST("shardid", shardids[last])};

		rows =
			catalog_scan(&placement_catalog, placement_shard_index, lengthof(keys), keys);
		foreach_ptr (PlacementRow, row, rows)
		{
			while (shardids[at] < row->shardid)
				at++;
			if (shardids[at] == row->shardid)
				result = lappend(result, row);
		}
		list_free(rows);
	}
	return result;
}

void
catalog_placement_insert(const PlacementRow *row)
{
	catalog_insert(&placement_catalog, row);
	placement_invalidate(row->shardid);
}

bool
catalog_placement_update(const PlacementRow *row)
{
	CatalogKey key = KEY_INT8("placementid", row->placementid);
	bool found = catalog_update(&placement_catalog, placement_key_index, 1, &key, row);

	placement_invalidate(row->shardid);
	return found;
}

bool
catalog_placement_delete(int64 placementid)
{
	CatalogKey key = KEY_INT8("placementid", placementid);
	PlacementRow *row = catalog_placement_by_id(placementid);

	if (row == NULL)
		return false;
	catalog_delete(&placement_catalog, placement_key_index, 1, &key);
	placement_invalidate(row->shardid);
	return true;
}

int
catalog_placement_delete_by_shard(int64 shardid)
{
	CatalogKey key = KEY_INT8("shardid", shardid);
	int deleted = catalog_delete(&placement_catalog, placement_shard_index, 1, &key);

	placement_invalidate(shardid);
	return deleted;
}
