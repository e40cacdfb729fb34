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

/* The colocation group of the schema's tables; 0: it is not distributed. */
extern int32 catalog_schema_colocation(Oid schemaid);

extern void catalog_schema_insert(const SchemaRow *row);

/* Was there a row? */
extern bool catalog_schema_delete(Oid schemaid);

#endif
