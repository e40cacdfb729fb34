/*
 * table_check.h: may this table be distributed, and in this way?
 *
 * Every check raises an error with SQLSTATE, detail and hint, and changes nothing.
 */
#ifndef PANDO_CLUSTER_TABLE_CHECK_H
#define PANDO_CLUSTER_TABLE_CHECK_H

#include "pando/compat/compat.h"
#include "access/attnum.h"
#include "utils/relcache.h"

#include "pando/metadata/table.h"

/* How a table is to be, or is, distributed. */
typedef struct TableSpec
{
	Oid relid;
	TableKind kind;
	AttrNumber key; /* of tables that are split */
	char *key_name;
	Oid key_type;
	Oid key_collation;
	int shard_count;
	int replication;
	int32 colocation;
	bool new_colocation;	 /* the group has to be registered */
	bool private_colocation; /* no table joins it by default */
	Oid model; /* table with whose shards its own line up; InvalidOid: none yet */
} TableSpec;

/* The current user owns it; used before anything is told about the table. */
extern void table_check_owner(Oid relid);

/* An ordinary table, not partitioned, that is not in the metadata. */
extern void table_check_ordinary(Relation rel);

/*
 * A table, partitioned or not, that is not in the metadata and has nothing that shards
 * can't keep; no partition, which is distributed along with its parent (the second).
 */
extern void table_check_relation(Relation rel);
extern void table_check_partition(Relation rel);

/* Finds the distribution column and fills in the key of the spec. */
extern void table_check_key(Relation rel, const char *column, TableSpec *spec);

/* Unique and exclusion constraints hold within a shard. */
extern void table_check_unique(Relation rel, const TableSpec *spec);

/*
 * Foreign keys from the table lead to reference tables or stay within a shard group;
 * tables in `together` (Oid list) are converted along with it, in the same way. Those to
 * it from local tables get a notice.
 */
extern void table_check_foreign_keys(Relation rel, const TableSpec *spec, List *together);

/*
 * After the table has become a local one again: checks the foreign keys to it from tables
 * that were local all the time, which did not see its changes.
 */
extern void table_validate_local_references(Oid relid);

/* Tables that a foreign key leads from or to (Oid list, the table itself left out). */
extern List *table_foreign_key_neighbours(Oid relid);

#endif
