/*
 * node.c: rows of pg_dist_node, pg_dist_local_group and pg_dist_node_metadata.
 */
#include "pando/compat/compat.h"

#include "utils/jsonb.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/node.h"

static const CatalogColumn node_columns[] = {
	{"nodeid", COLUMN_INT4, offsetof(NodeRow, nodeid)},
	{"groupid", COLUMN_INT4, offsetof(NodeRow, groupid)},
	{"nodename", COLUMN_TEXT, offsetof(NodeRow, nodename)},
	{"nodeport", COLUMN_INT4, offsetof(NodeRow, nodeport)},
	{"noderack", COLUMN_TEXT, offsetof(NodeRow, noderack)},
	{"hasmetadata", COLUMN_BOOL, offsetof(NodeRow, hasmetadata)},
	{"isactive", COLUMN_BOOL, offsetof(NodeRow, isactive)},
	{"noderole", COLUMN_ENUM, offsetof(NodeRow, noderole)},
	{"nodecluster", COLUMN_NAME, offsetof(NodeRow, nodecluster)},
	{"metadatasynced", COLUMN_BOOL, offsetof(NodeRow, metadatasynced)},
	{"shouldhaveshards", COLUMN_BOOL, offsetof(NodeRow, shouldhaveshards)},
	{"nodeisclone", COLUMN_BOOL, offsetof(NodeRow, nodeisclone)},
	{"nodeprimarynodeid", COLUMN_INT4, offsetof(NodeRow, nodeprimarynodeid)},
};
static const Catalog node_catalog = CATALOG_OF("pg_dist_node", NodeRow, node_columns);
static const char *const node_key_index = "pg_dist_node_pkey";

typedef struct LocalGroupRow
{
	int32 groupid;
} LocalGroupRow;

static const CatalogColumn local_group_columns[] = {
	{"groupid", COLUMN_INT4, offsetof(LocalGroupRow, groupid)},
};
static const Catalog local_group_catalog =
	CATALOG_OF("pg_dist_local_group", LocalGroupRow, local_group_columns);

typedef struct NodeMetadataRow
{
	Jsonb *metadata;
} NodeMetadataRow;

static const CatalogColumn node_metadata_columns[] = {
	{"metadata", COLUMN_JSONB, offsetof(NodeMetadataRow, metadata)},
};
static const Catalog node_metadata_catalog =
	CATALOG_OF("pg_dist_node_metadata", NodeMetadataRow, node_metadata_columns);

int32
catalog_node_next_id(void)
{
	return (int32) catalog_nextval("pg_dist_node_nodeid_seq");
}

int32
catalog_node_next_group(void)
{
	return (int32) catalog_nextval("pg_dist_groupid_seq");
}

List *
catalog_node_all(void)
{
	return catalog_scan(&node_catalog, node_key_index, 0, NULL);
}

NodeRow *
catalog_node_by_id(int32 nodeid)
{
	CatalogKey key = KEY_INT4("nodeid", nodeid);

	return catalog_find(&node_catalog, node_key_index, 1, &key);
}

int32
catalog_local_group(void)
{
	LocalGroupRow *row = catalog_find(&local_group_catalog, NULL, 0, NULL);

	return row != NULL ? row->groupid : 0;
}

char *
catalog_server_id(void)
{
	NodeMetadataRow *row = catalog_find(&node_metadata_catalog, NULL, 0, NULL);
	JsonbValue *value = NULL;

	if (row != NULL && row->metadata != NULL && JB_ROOT_IS_OBJECT(row->metadata))
		value = getKeyJsonValueFromContainer(&row->metadata->root, "server_id",
											 strlen("server_id"), NULL);
	if (value == NULL || value->type != jbvString)
		return NULL;
	return pnstrdup(value->val.string.val, value->val.string.len);
}

void
catalog_node_invalidate(void)
{
	catalog_invalidate(catalog_oid("pg_dist_node"));
}
