/*
 * shard.h: rows of pg_dist_shard.
 *
 * Every change invalidates what backends cached about the shard's table.
 */
#ifndef PANDO_CATALOG_SHARD_H
#define PANDO_CATALOG_SHARD_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#define SHARDSTORAGE_TABLE 't'

typedef struct ShardRow
{
	Oid logicalrelid;
	int64 shardid;
	char shardstorage;
	char *shardminvalue; /* NULL where there is no distribution column */
	char *shardmaxvalue;
} ShardRow;

extern int64 catalog_shard_next_id(void);

extern ShardRow *catalog_shard_by_id(int64 shardid);
extern List *catalog_shard_by_relid(Oid relid);

extern void catalog_shard_insert(const ShardRow *row);
extern void catalog_shard_update(const ShardRow *row);
extern bool catalog_shard_delete(int64 shardid);

#endif
