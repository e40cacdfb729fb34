/*
 * schema.h: rows of pg_dist_schema: schemas whose tables form one shard group.
 *
 * pando.distributed_schema says the same by name: what a dump and pg_upgrade keep. It
 * follows here.
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

/* Raises unless the schema exists and the current user owns it. */
extern void catalog_schema_require_owner(Oid schemaid);

/* The group of a schema's tables; 0 if it is not distributed. */
extern int32 catalog_schema_colocation(Oid schemaid);

/* Is it the group of a distributed schema? */
extern bool catalog_schema_has_colocation(int32 colocationid);

extern void catalog_schema_insert(Oid schemaid, int32 colocationid);

/* Was there a row? The group goes, too. */
extern bool catalog_schema_delete(Oid schemaid);

/* The schema has another name; nothing if it is not distributed. */
extern void catalog_schema_rename(Oid schemaid, const char *name);

#endif
