/*
 * stats_target.h: how many values ANALYZE is to keep of a column.
 */
#ifndef PANDO_COMPAT_STATS_TARGET_H
#define PANDO_COMPAT_STATS_TARGET_H

#include "pando/compat/compat.h"
#include "catalog/pg_attribute.h"
#include "commands/vacuum.h"
#include "utils/syscache.h"

/*
 * compat_stats_target(): 0 for none, -1 for the default. compat_stats_of(): tells
 * PostgreSQL's functions for a type's statistics of the column. Since PostgreSQL 17 the
 * target is no field of a column as tuple descriptors have it.
 */
#if PG_VERSION_NUM < 170000
static inline int
compat_stats_target(Form_pg_attribute column)
{
	return column->attstattarget;
}

static inline void
compat_stats_of(VacAttrStats *stats, Form_pg_attribute column)
{
	stats->attr = palloc(ATTRIBUTE_FIXED_PART_SIZE);
	memcpy(stats->attr, column, ATTRIBUTE_FIXED_PART_SIZE);
}
#else
static inline int
compat_stats_target(Form_pg_attribute column)
{
	HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(column->attrelid),
									  Int16GetDatum(column->attnum));
	Datum target = 0;
	bool none = true;

	if (HeapTupleIsValid(tuple))
	{
		target = SysCacheGetAttr(ATTNUM, tuple, Anum_pg_attribute_attstattarget, &none);
		ReleaseSysCache(tuple);
	}
	return none ? -1 : DatumGetInt16(target);
}

static inline void
compat_stats_of(VacAttrStats *stats, Form_pg_attribute column)
{
	stats->attstattarget = compat_stats_target(column);
}
#endif

#endif
