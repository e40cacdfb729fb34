/*
 * table.h: what this node knows of distributed tables and their shards.
 *
 * A DistTable is read from pg_dist_partition, pg_dist_shard and pg_dist_placement once
 * and cached per backend until one of them changes for that table (relcache invalidation
 * of the shell table). A pointer stays valid until the end of the transaction, even when
 * the cache has moved on; what it says is as fresh as the last lock taken on the shell
 * table.
 */
#ifndef PANDO_METADATA_TABLE_H
#define PANDO_METADATA_TABLE_H

#include "pando/compat/compat.h"
#include "access/attnum.h"
#include "fmgr.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "utils/typcache.h"

typedef enum TableKind
{
	TABLE_HASH = 1,	 /* split by the hash of its distribution column */
	TABLE_RANGE,	 /* split by its value, in ranges that do not overlap */
	TABLE_APPEND,	 /* split as it was filled: a row's shard is known to nobody */
	TABLE_SINGLE,	 /* one shard, no distribution column, member of a colocation group */
	TABLE_REFERENCE, /* one shard, a placement on every node */
	TABLE_MANAGED_LOCAL /* on the coordinator: an ordinary table that others can use */
} TableKind;

/*
 * A managed local table is the coordinator's own, ordinary table: there nothing is
 * special about it. To the other nodes it is TABLE_SINGLE with `managed_local` set: an
 * empty shell and one shard on the coordinator, whose table has the shell's own name. All
 * of them are in one colocation group, of this number, which no catalog knows.
 */
#define MANAGED_LOCAL_COLOCATION PG_INT32_MIN

typedef struct Placement
{
	int64 id;
	int32 group; /* node group that holds this copy */
	int32 state; /* 1: active; others are not read nor written */
} Placement;

typedef struct Shard
{
	int64 id;
	int index;		 /* position in DistTable.shards, ordered by min; the shard group */
	int32 min_hash;	 /* inclusive; INT32_MIN..INT32_MAX where nothing is hashed */
	int32 max_hash;	 /* inclusive */
	int nplacements; /* active ones only, in order of placement id */
	Placement *placements;
	Oid local; /* shard_relation.c's: what shard_local_table() found; InvalidOid: unknown
				*/
} Shard;

/* The shards of a table that have an active placement in a group. */
typedef struct GroupShards
{
	int32 group;
	int nshards;
	const int *shards; /* their indexes, ascending */
} GroupShards;

typedef struct RangeMap RangeMap; /* range.h */

typedef struct DistTable
{
	Oid relid;
	TableKind kind;
	char partmethod; /* as in pg_dist_partition */
	char repmodel;
	bool managed_local; /* a table of the coordinator, seen from whichever node */
	int32 colocation;	/* colocation group */
	AttrNumber key;		/* distribution column, InvalidAttrNumber where there is none and
						 * where it does not say which shard has a row */
	AttrNumber named_key; /* what the catalog calls so, of TABLE_APPEND as well */
	Oid key_type;
	int32 key_typmod;
	Oid key_collation;
	bool key_not_null; /* declared so */
	FmgrInfo hash;	   /* hash function of key_type; unset without a key */
	RangeMap *ranges;  /* TABLE_RANGE */
	int nshards;
	Shard *shards;
	int *by_id; /* indexes of the shards in order of their ids */
	int ngroups;
	GroupShards *groups; /* those that have some of the shards, in order of the group */
	int fires_here; /* 1 << CMD_INSERT ...: which changes fire triggers where the client
					 * is; the others' triggers, if there are any, its shards have */
	int acts_here;	/* the same: which changes have actions of foreign keys done there */
	Bitmapset *acting_columns; /* of an UPDATE that has, one is assigned; 0: any */
	bool refers_to_itself;	   /* by a foreign key without action */
} DistTable;

/* Is the extension created in this database, and is it safe to look at its catalogs? */
extern bool metadata_active(void);

/* The table's metadata, or NULL when it is not in pg_dist_partition. */
extern const DistTable *dist_table(Oid relid);

/* The same; raises invalid_object_definition "table %s is not distributed" if absent. */
extern const DistTable *dist_table_require(Oid relid);

/* The table, or the root of those that it is a partition of. */
extern Oid table_root(Oid relid);

/* Are its rows split over shards, of which others may have the same number? */
static inline bool
dist_table_is_split(const DistTable *table)
{
	return table->kind == TABLE_HASH || table->kind == TABLE_RANGE ||
		   table->kind == TABLE_APPEND;
}

/* Split, or in one shard for all rows? */
static inline bool
dist_table_is_sharded(const DistTable *table)
{
	return dist_table_is_split(table) || table->kind == TABLE_SINGLE;
}

/* Does each value of its distribution column have one shard, if any, where rows with it
 * are? Not where a range is still unknown. */
extern bool dist_table_key_tells(const DistTable *table);

/* Are two tables' shards paired one to one on the same nodes? */
extern bool dist_table_colocated(const DistTable *a, const DistTable *b);

/* OIDs of all distributed tables of this database; of one colocation group. */
extern List *dist_table_oids(void);
extern List *dist_table_oids_of_colocation(int32 colocation);

/* The type with its hash function; raises if it has none. */
extern TypeCacheEntry *hashable_type(Oid type);

/* The same with its B-tree comparison. */
extern TypeCacheEntry *comparable_type(Oid type);

/* Hash values, both inclusive. */
typedef struct HashRange
{
	int32 min;
	int32 max;
} HashRange;

/* Of a value of the distribution column, in a table that is split by hash: it is in the
 * shard whose range has that. */
extern int32 dist_table_hash(const DistTable *table, Datum value, bool isnull);

/* An argument of type "any", not NULL, as a value of the distribution column's type. */
extern Datum dist_table_key_argument(const DistTable *table, FunctionCallInfo fcinfo,
									 int argument);

/*
 * Index of the shard that holds a value of the distribution column's type, if any does.
 * Rows without a value are where the hash 0 is; raises if the hash ranges have a gap. In
 * a table split by ranges no row has a value for which there is no shard: any shard will
 * do to look for it, and the first is returned.
 */
extern int shard_index_of_value(const DistTable *table, Datum value, bool isnull);

/* The same, but -1 where a table split by ranges has no shard for it. */
extern int shard_index_if_any(const DistTable *table, Datum value, bool isnull);

/*
 * Index of the shard where a row with that value is to be stored. Raises if there is
 * none: check_violation, not_null_violation for NULL in a table split by ranges;
 * feature_not_supported for TABLE_APPEND, whose rows go where COPY says.
 */
extern int shard_index_for_row(const DistTable *table, Datum value, bool isnull);

/* The table's shard with that id; NULL if it has none. */
extern const Shard *shard_of_table(const DistTable *table, int64 shard_id);

/* The shard with that id; NULL if there is none. *table is set when given. */
extern const Shard *shard_by_id(int64 shard_id, const DistTable **table);

/* What the group has of the table; nshards is 0 if nothing. */
extern GroupShards dist_table_in_group(const DistTable *table, int32 group);

/* Makes every backend of this node reload what it cached about the table. */
extern void dist_table_invalidate(Oid relid);

#endif
