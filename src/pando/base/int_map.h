/*
 * int_map.h: from an int to a pointer, such as from a node group to what there is of it.
 */
#ifndef PANDO_BASE_INT_MAP_H
#define PANDO_BASE_INT_MAP_H

#include "pando/compat/compat.h"

typedef struct IntMap IntMap;

/* An empty one in the current memory context, which it goes with. */
extern IntMap *int_map_create(void);

/* Where the key's pointer stands, NULL at first; valid until the next call. */
extern void **int_map_at(IntMap *map, int32 key);

/* Is the key asked for the first time? For a map that only says what was seen. */
static inline bool
int_map_first(IntMap *map, int32 key)
{
	void **at = int_map_at(map, key);
	bool first = *at == NULL;

	*at = map;
	return first;
}

#endif
