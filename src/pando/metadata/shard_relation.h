/*
 * shard_relation.h: from a plain table on this node to the shard it holds, and the other
 * way.
 */
#ifndef PANDO_METADATA_SHARD_RELATION_H
#define PANDO_METADATA_SHARD_RELATION_H

#include "pando/compat/compat.h"
#include "pando/metadata/table.h"

/*
 * Is the relation a shard's table (whatever the placements say)? Then *shard_id and
 * *shell are set, each when given. Cheap for names that do not end in _<digits>.
 */
extern bool relation_is_shard(Oid relid, int64 *shard_id, Oid *shell);

/* OID of the table that holds a shard on this node; InvalidOid when it has none. */
extern Oid shard_relation(const DistTable *table, int64 shard_id);

#endif
