/*
 * name.h: names of relations and shards as text.
 */
#ifndef PANDO_BASE_NAME_H
#define PANDO_BASE_NAME_H

#include "pando/compat/compat.h"

/* schema.name, each part quoted where SQL needs it; raises undefined_table if gone. */
extern char *name_qualified(Oid relid);

/*
 * The unquoted name of a shard's table, index or constraint: <name>_<shardid>. A name
 * that would exceed NAMEDATALEN-1 bytes is cut (at a character) and gets the hash of the
 * whole name before the shard id, so that different long names stay different.
 */
extern char *name_shard(const char *name, int64 shard_id);

/* schema.name_shardid, quoted. */
extern char *name_shard_qualified(Oid relid, int64 shard_id);

#endif
