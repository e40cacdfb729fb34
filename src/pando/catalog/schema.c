/*
 * schema.c: rows of pg_dist_schema.
 */
#include "pando/compat/compat.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/schema.h"

static const CatalogColumn schema_columns[] = {
	{"schemaid", COLUMN_OID, offsetof(SchemaRow, schemaid)},
	{"colocationid", COLUMN_INT4, offsetof(SchemaRow, colocationid)},
};
static const Catalog schema_catalog =
	CATALOG_OF("pg_dist_schema", SchemaRow, schema_columns);
static const char *const schema_key_index = "pg_dist_schema_pkey";

int32
catalog_schema_colocation(Oid schemaid)
{
	CatalogKey key = KEY_OID("schemaid", schemaid);
	SchemaRow *row = catalog_find(&schema_catalog, schema_key_index, 1, &key);

	return row != NULL ? row->colocationid : 0;
}

void
catalog_schema_insert(const SchemaRow *row)
{
	catalog_insert(&schema_catalog, row);
}

bool
catalog_schema_delete(Oid schemaid)
{
	CatalogKey key = KEY_OID("schemaid", schemaid);

	return catalog_delete(&schema_catalog, schema_key_index, 1, &key) > 0;
}
