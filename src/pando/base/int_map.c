/*
 * int_map.c: from an int to a pointer, such as from a node group to what there is of it.
 *
 * For lists that are put together by node: a search through what there is already, for
 * each shard, would be the product of shards and nodes.
 */
#include "pando/compat/compat.h"

#include "common/hashfn.h"
#include "utils/palloc.h"

#include "pando/base/debug_point.h"
#include "pando/base/int_map.h"

typedef struct IntMapEntry
{
	int32 key;
	char status; /* simplehash's */
	void *value;
} IntMapEntry;

#define SH_PREFIX entries
#define SH_ELEMENT_TYPE IntMapEntry
#define SH_KEY_TYPE int32
#define SH_KEY key
#define SH_HASH_KEY(table, key) murmurhash32((uint32) (key))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct IntMap
{
	entries_hash *entries;
};

IntMap *
int_map_create(void)
{
	IntMap *map = palloc(sizeof(IntMap));

	map->entries = entries_create(CurrentMemoryContext, 16, NULL);
	return map;
}

void **
int_map_at(IntMap *map, int32 key)
{
	bool found;
	IntMapEntry *entry = entries_insert(map->entries, key, &found);

	DEBUG_STEPS(1);
	if (!found)
		entry->value = NULL;
	return &entry->value;
}
