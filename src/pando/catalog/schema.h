/*
 * schema.h: rows of pg_dist_schema: schemas whose tables form one shard group.
 */
#ifndef PANDO_CATALOG_SCHEMA_H
#define PANDO_CATALOG_SCHEMA_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

typedef struct SchemaRow
{
	Oid schemaid;
	int32 colocationid;
} SchemaRow;

/* NULL when the schema is not distributed. */
extern SchemaRow *catalog_schema_by_id(Oid schemaid);
extern List *catalog_schema_all(void);
extern void catalog_schema_insert(const SchemaRow *row);
extern bool catalog_schema_delete(Oid schemaid);

#endif
