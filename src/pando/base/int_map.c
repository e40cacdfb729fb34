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

/* The first key has its place here: most maps, a single row's, have no other. */
struct IntMap
{
	MemoryContext context;
	bool used;
	int32 first;
	void *first_value;
	entries_hash *others; /* NULL: none */
};

IntMap *
int_map_create(void)
{
	IntMap *map = palloc(sizeof(IntMap));

	map->context = CurrentMemoryContext;
	map->used = false;
	map->others = NULL;
	return map;
}

void **
int_map_at(IntMap *map, int32 key)
{
	bool found;
	IntMapEntry *entry;

	DEBUG_STEPS(1);
	if (!map->used)
	{
		map->used = true;
		map->first = key;
		map->first_value = NULL;
	}
	if (map->first == key)
		return &map->first_value;
	if (map->others == NULL)
		map->others = entries_create(map->context, 16, NULL);
	entry = entries_insert(map->others, key, &found);
	if (!found)
		entry->value = NULL;
	return &entry->value;
}
