/*
 * schema.c: rows of pg_dist_schema and of pando.distributed_schema.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/pg_namespace.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/colocation.h"
#include "pando/catalog/schema.h"

static const CatalogColumn schema_columns[] = {
	{"schemaid", COLUMN_OID, offsetof(SchemaRow, schemaid)},
	{"colocationid", COLUMN_INT4, offsetof(SchemaRow, colocationid)},
};
static const Catalog schema_catalog =
	CATALOG_OF("pg_dist_schema", SchemaRow, schema_columns);
static const char *const schema_key_index = "pg_dist_schema_pkey";

typedef struct SchemaNameRow
{
	int32 colocation;
	char *name;
} SchemaNameRow;

static const CatalogColumn schema_name_columns[] = {
	{"colocation", COLUMN_INT4, offsetof(SchemaNameRow, colocation)},
	{"name", COLUMN_NAME, offsetof(SchemaNameRow, name)},
};
static const Catalog schema_name_catalog =
	CATALOG_OF("distributed_schema", SchemaNameRow, schema_name_columns);
static const char *const schema_name_key_index = "distributed_schema_pkey";

static SchemaRow *
find_schema(Oid schemaid)
{
	CatalogKey key = KEY_OID("schemaid", schemaid);

	return catalog_find(&schema_catalog, schema_key_index, 1, &key);
}

void
catalog_schema_require_owner(Oid schemaid)
{
	char *name = get_namespace_name(schemaid);

	if (name == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA),
						errmsg("schema with OID %u does not exist", schemaid)));
	if (!compat_owns_schema(schemaid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_SCHEMA, name);
}

int32
catalog_schema_colocation(Oid schemaid)
{
	const SchemaRow *row = find_schema(schemaid);

	return row != NULL ? row->colocationid : 0;
}

bool
catalog_schema_has_colocation(int32 colocationid)
{
	CatalogKey key = KEY_INT4("colocation", colocationid);

	return catalog_find(&schema_name_catalog, schema_name_key_index, 1, &key) != NULL;
}

void
catalog_schema_insert(Oid schemaid, int32 colocationid)
{
	SchemaRow row = {schemaid, colocationid};
	SchemaNameRow name = {colocationid, get_namespace_name(schemaid)};

	catalog_insert(&schema_catalog, &row);
	catalog_insert(&schema_name_catalog, &name);
}

bool
catalog_schema_delete(Oid schemaid)
{
	const SchemaRow *row = find_schema(schemaid);
	CatalogKey key = KEY_OID("schemaid", schemaid);
	CatalogKey name_key = KEY_INT4("colocation", row != NULL ? row->colocationid : 0);

	if (row == NULL)
		return false;
	catalog_delete(&schema_catalog, schema_key_index, 1, &key);
	catalog_delete(&schema_name_catalog, schema_name_key_index, 1, &name_key);
	catalog_colocation_delete(row->colocationid);
	return true;
}

void
catalog_schema_rename(Oid schemaid, const char *name)
{
	const SchemaRow *row = find_schema(schemaid);
	SchemaNameRow renamed = {row != NULL ? row->colocationid : 0, pstrdup(name)};
	CatalogKey key = KEY_INT4("colocation", renamed.colocation);

	if (row != NULL)
		catalog_update(&schema_name_catalog, schema_name_key_index, 1, &key, &renamed);
}
