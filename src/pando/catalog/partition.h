/*
 * partition.h: rows of pg_dist_partition: one per table that is in the metadata.
 *
 * Every change invalidates what backends cached about the table.
 */
#ifndef PANDO_CATALOG_PARTITION_H
#define PANDO_CATALOG_PARTITION_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#define PARTMETHOD_HASH 'h'
#define PARTMETHOD_RANGE 'r'
#define PARTMETHOD_APPEND 'a'
#define PARTMETHOD_NONE 'n'

#define REPMODEL_SINGLE 's'	   /* one placement per shard */
#define REPMODEL_COPIES 'c'	   /* several, written by statements */
#define REPMODEL_REFERENCE 't' /* one on every node */

typedef struct PartitionRow
{
	Oid logicalrelid;
	char partmethod;
	char *partkey; /* name of the distribution column, NULL for none */
	int32 colocationid;
	char repmodel;
	bool autoconverted;
} PartitionRow;

/* NULL when the table is not in the metadata. */
extern PartitionRow *catalog_partition_by_relid(Oid relid);
extern List *catalog_partition_all(void);
extern List *catalog_partition_by_colocation(int32 colocationid);

extern void catalog_partition_insert(const PartitionRow *row);
extern bool catalog_partition_update(const PartitionRow *row);
extern bool catalog_partition_delete(Oid relid);

#endif
