/*
 * move_part.c: rows of pando.move_part.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "utils/lsyscache.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/move_part.h"

typedef struct MovePartRow
{
	Oid relation;
	bool receives;
} MovePartRow;

static const CatalogColumn move_part_columns[] = {
	{"relation", COLUMN_OID, offsetof(MovePartRow, relation)},
	{"receives", COLUMN_BOOL, offsetof(MovePartRow, receives)},
};
static const Catalog move_part_catalog =
	CATALOG_OF("move_part", MovePartRow, move_part_columns);

bool
catalog_move_part_receives(Oid relation)
{
	CatalogKey key = KEY_OID("relation", relation);

	if (!OidIsValid(get_relname_relid("move_part", get_namespace_oid("pando", true))))
		return false;
	foreach_ptr (MovePartRow, row, catalog_scan(&move_part_catalog, NULL, 1, &key))
		if (row->receives)
			return true;
	return false;
}
