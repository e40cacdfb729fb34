/*
 * colocation.c: rows of pg_dist_colocation.
 */
#include "pando/compat/compat.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/colocation.h"

static const CatalogColumn colocation_columns[] = {
	{"colocationid", COLUMN_INT4, offsetof(ColocationRow, colocationid)},
	{"shardcount", COLUMN_INT4, offsetof(ColocationRow, shardcount)},
	{"replicationfactor", COLUMN_INT4, offsetof(ColocationRow, replicationfactor)},
	{"distributioncolumntype", COLUMN_OID,
	 offsetof(ColocationRow, distributioncolumntype)},
	{"distributioncolumncollation", COLUMN_OID,
	 offsetof(ColocationRow, distributioncolumncollation)},
};
static const Catalog colocation_catalog =
	CATALOG_OF("pg_dist_colocation", ColocationRow, colocation_columns);
static const char *const colocation_key_index = "pg_dist_colocation_pkey";

int32
catalog_colocation_next_id(void)
{
	return (int32) catalog_nextval("pg_dist_colocationid_seq");
}

ColocationRow *
catalog_colocation_by_id(int32 colocationid)
{
	CatalogKey key = KEY_INT4("colocationid", colocationid);

	return catalog_find(&colocation_catalog, colocation_key_index, 1, &key);
}

static int
compare_colocations(const ListCell *a, const ListCell *b)
{
	const ColocationRow *x = lfirst(a);
	const ColocationRow *y = lfirst(b);

	return x->colocationid < y->colocationid ? -1 : x->colocationid > y->colocationid;
}

List *
catalog_colocation_by_make(int32 shardcount, int32 replicationfactor, Oid type,
						   Oid collation)
{
	CatalogKey keys[] = {
		KEY_INT4("shardcount", shardcount),
		KEY_INT4("replicationfactor", replicationfactor),
		KEY_OID("distributioncolumntype", type),
		KEY_OID("distributioncolumncollation", collation),
	};
	List *rows =
		catalog_scan(&colocation_catalog, "pg_dist_colocation_configuration_index",
					 lengthof(keys), keys);

	list_sort(rows, compare_colocations);
	return rows;
}

void
catalog_colocation_insert(const ColocationRow *row)
{
	catalog_insert(&colocation_catalog, row);
}

bool
catalog_colocation_update(const ColocationRow *row)
{
	CatalogKey key = KEY_INT4("colocationid", row->colocationid);

	return catalog_update(&colocation_catalog, colocation_key_index, 1, &key, row);
}

bool
catalog_colocation_delete(int32 colocationid)
{
	CatalogKey key = KEY_INT4("colocationid", colocationid);

	return catalog_delete(&colocation_catalog, colocation_key_index, 1, &key) > 0;
}
