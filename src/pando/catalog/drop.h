/*
 * drop.h: forgetting what was dropped, on this server.
 */
#ifndef PANDO_CATALOG_DROP_H
#define PANDO_CATALOG_DROP_H

#include "pando/compat/compat.h"
#include "catalog/objectaddress.h"

/*
 * Deletes a table's rows: placements, shards, and the table itself. The table may be gone
 * already. Returns false when it was not in the metadata.
 */
extern bool catalog_forget_table(Oid relid);

/* Deletes a shard with its placements. */
extern bool catalog_forget_shard(int64 shardid);

/* Whatever rows there are for a dropped object: table, schema or recorded object. */
extern void catalog_forget_object(const ObjectAddress *address);

#endif
