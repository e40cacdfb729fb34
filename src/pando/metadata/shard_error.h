/*
 * shard_error.h: an error that comes from a shard names the logical table.
 */
#ifndef PANDO_METADATA_SHARD_ERROR_H
#define PANDO_METADATA_SHARD_ERROR_H

#include "pando/compat/compat.h"

/* May errors with this SQLSTATE name a shard? Costs next to nothing. */
extern bool shard_error_possible(int sqlstate);

/*
 * Replaces the shards' names in message, detail and fields by the tables', indexes' and
 * constraints' own; the shard goes to the context. New texts are made in the memory
 * context. Reads the catalogs: only where the transaction may still do so.
 */
extern void shard_error_tell(ErrorData *error, MemoryContext context);

#endif
