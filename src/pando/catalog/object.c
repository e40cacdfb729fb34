/*
 * object.c: rows of pg_dist_object.
 */
#include "pando/compat/compat.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/object.h"

static const CatalogColumn object_columns[] = {
	{"classid", COLUMN_OID, offsetof(ObjectRow, classid)},
	{"objid", COLUMN_OID, offsetof(ObjectRow, objid)},
	{"objsubid", COLUMN_INT4, offsetof(ObjectRow, objsubid)},
	{"type", COLUMN_TEXT, offsetof(ObjectRow, type)},
	{"object_names", COLUMN_TEXT_ARRAY, offsetof(ObjectRow, object_names)},
	{"object_args", COLUMN_TEXT_ARRAY, offsetof(ObjectRow, object_args)},
	{"distribution_argument_index", COLUMN_INT4_OR_NULL,
	 offsetof(ObjectRow, distribution_argument_index)},
	{"colocationid", COLUMN_INT4_OR_NULL, offsetof(ObjectRow, colocationid)},
	{"force_delegation", COLUMN_BOOL_OR_NULL, offsetof(ObjectRow, force_delegation)},
};
static const Catalog object_catalog =
	CATALOG_OF("pg_dist_object", ObjectRow, object_columns);
static const char *const object_key_index = "pg_dist_object_pkey";

#define OBJECT_KEYS(a)                                                                   \
	{                                                                                    \
		KEY_OID("classid", (a)->classId), KEY_OID("objid", (a)->objectId),               \
			KEY_INT4("objsubid", (a)->objectSubId)                                       \
	}

ObjectRow *
catalog_object_new(const ObjectAddress *address)
{
	ObjectRow *row = palloc0(sizeof(ObjectRow));

	row->classid = address->classId;
	row->objid = address->objectId;
	row->objsubid = address->objectSubId;
	row->type = getObjectTypeDescription(address, false);
	pfree(getObjectIdentityParts(address, &row->object_names, &row->object_args, false));
	row->distribution_argument_index = -1;
	row->colocationid = -1;
	row->force_delegation = -1;
	return row;
}

ObjectRow *
catalog_object_find(const ObjectAddress *address)
{
	CatalogKey keys[] = OBJECT_KEYS(address);

	return catalog_find(&object_catalog, object_key_index, lengthof(keys), keys);
}

List *
catalog_object_all(void)
{
	return catalog_scan(&object_catalog, object_key_index, 0, NULL);
}

void
catalog_object_insert(const ObjectRow *row)
{
	catalog_insert(&object_catalog, row);
}

bool
catalog_object_update(const ObjectRow *row)
{
	const ObjectAddress address = {row->classid, row->objid, row->objsubid};
	CatalogKey keys[] = OBJECT_KEYS(&address);

	return catalog_update(&object_catalog, object_key_index, lengthof(keys), keys, row);
}

bool
catalog_object_delete(const ObjectAddress *address)
{
	CatalogKey keys[] = OBJECT_KEYS(address);

	return catalog_delete(&object_catalog, object_key_index, lengthof(keys), keys) > 0;
}
