/*
 * cache.h: what the caches of tables and of nodes share: whether the extension is there,
 * the invalidation callback, and memory that outlives its replacement until the
 * transaction's end.
 */
#ifndef PANDO_METADATA_CACHE_H
#define PANDO_METADATA_CACHE_H

#include "pando/compat/compat.h"

/*
 * The state of something cached. A load sets CACHE_LOADING before it reads the catalogs,
 * and CACHE_VALID after it only if nobody has set CACHE_EMPTY meanwhile (else it reads
 * again): an invalidation that arrives during a load is not lost, and an error leaves it
 * invalid.
 */
typedef enum CacheState
{
	CACHE_EMPTY,
	CACHE_LOADING,
	CACHE_VALID
} CacheState;

/*
 * After so many loads that were disturbed the last one is used once and not kept. (With
 * debug_discard_caches every load is disturbed.)
 */
#define CACHE_MAX_LOADS 8

/* The extension, while metadata_active(). */
extern Oid metadata_extension(void);

/* Parent of all cached objects' memory contexts. */
extern MemoryContext metadata_cache_context(void);

/* Keeps a replaced object's memory until the end of the transaction. */
extern void metadata_cache_retire(MemoryContext context);

/* Called by the invalidation callback; InvalidOid stands for all. */
extern void table_cache_invalidated(Oid relid);
extern void node_cache_invalidated(Oid relid);

/* Raises unless the extension in the database is of the library's version. */
extern void metadata_require_version(void);

#endif
