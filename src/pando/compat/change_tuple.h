/*
 * change_tuple.h: the tuples of a decoded change.
 */
#ifndef PANDO_COMPAT_CHANGE_TUPLE_H
#define PANDO_COMPAT_CHANGE_TUPLE_H

#include "pando/compat/compat.h"
#include "access/tupconvert.h"
#include "replication/reorderbuffer.h"

/* The same tuple with the columns as a map has them, NULL for NULL; in `space`, and
 * allocated. Since PostgreSQL 17 there is no buffer around it. */
#if PG_VERSION_NUM < 170000
typedef ReorderBufferTupleBuf CompatChangeTuple;

static inline ReorderBufferTupleBuf *
compat_change_tuple_map(ReorderBufferTupleBuf *tuple, TupleConversionMap *map,
						CompatChangeTuple *space)
{
	if (tuple == NULL)
		return NULL;
	space->tuple = *execute_attr_map_tuple(&tuple->tuple, map);
	return space;
}
#else
typedef HeapTupleData CompatChangeTuple;

static inline HeapTuple
compat_change_tuple_map(HeapTuple tuple, TupleConversionMap *map,
						CompatChangeTuple *space)
{
	return tuple == NULL ? NULL : execute_attr_map_tuple(tuple, map);
}
#endif

#endif
