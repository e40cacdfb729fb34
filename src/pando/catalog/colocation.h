/*
 * colocation.h: rows of pg_dist_colocation: the groups whose tables' shards line up.
 *
 * Nothing about a group is cached: tables carry its number, the rest is read when a table
 * joins.
 */
#ifndef PANDO_CATALOG_COLOCATION_H
#define PANDO_CATALOG_COLOCATION_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

typedef struct ColocationRow
{
	int32 colocationid;
	int32 shardcount;
	int32 replicationfactor;
	Oid distributioncolumntype; /* InvalidOid: no distribution column */
	Oid distributioncolumncollation;
} ColocationRow;

extern int32 catalog_colocation_next_id(void);

extern ColocationRow *catalog_colocation_by_id(int32 colocationid);

/* Groups of that make, in order of id. */
extern List *catalog_colocation_by_make(int32 shardcount, int32 replicationfactor,
										Oid type, Oid collation);

extern void catalog_colocation_insert(const ColocationRow *row);
extern bool catalog_colocation_update(const ColocationRow *row);
extern bool catalog_colocation_delete(int32 colocationid);

#endif
