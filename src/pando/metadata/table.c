/*
 * table.c: the cache of distributed tables and their shards.
 *
 * One hash table by relation, where an entry without a table is the knowledge that the
 * relation is not distributed: that answer is the one most statements of a local workload
 * need. Each table lives in a memory context of its own, made complete before it is put
 * in the cache. A second hash table leads from a shard id to its table; it is a hint,
 * checked at each use.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/reltrigger.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "pando/base/debug_point.h"
#include "pando/catalog/catalog.h"
#include "pando/catalog/partition.h"
#include "pando/catalog/placement.h"
#include "pando/catalog/shard.h"
#include "pando/metadata/cache.h"
#include "pando/metadata/firing.h"
#include "pando/metadata/group_shards.h"
#include "pando/metadata/node.h"
#include "pando/metadata/range.h"
#include "pando/metadata/table.h"
#include "pando/remote/session.h"

typedef struct TableEntry
{
	Oid relid; /* hash key */
	CacheState state;
	DistTable *table;	   /* NULL: not distributed */
	MemoryContext context; /* of table; NULL without one */
} TableEntry;

typedef struct ShardEntry
{
	int64 id; /* hash key */
	Oid relid;
} ShardEntry;

static HTAB *table_cache = NULL;
static HTAB *shard_hints = NULL;

static void
table_cache_create(void)
{
	HASHCTL ctl = {0};

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(TableEntry);
	ctl.hcxt = metadata_cache_context();
	table_cache =
		hash_create("pando tables", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	ctl.keysize = sizeof(int64);
	ctl.entrysize = sizeof(ShardEntry);
	shard_hints =
		hash_create("pando shards", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

void
table_cache_invalidated(Oid relid)
{
	HASH_SEQ_STATUS scan;
	TableEntry *entry;

	if (table_cache == NULL)
		return;
	if (OidIsValid(relid))
	{
		entry = hash_search(table_cache, &relid, HASH_FIND, NULL);
		if (entry == NULL)
			return;
		/* Temporary tables come and go: don't keep that they are not distributed. */
		if (entry->state == CACHE_VALID && entry->table == NULL)
			hash_search(table_cache, &relid, HASH_REMOVE, NULL);
		else
		{
			entry->state = CACHE_EMPTY;
			session_statements_changed();
		}
		return;
	}
	session_statements_changed();
	hash_seq_init(&scan, table_cache);
	while ((entry = hash_seq_search(&scan)) != NULL)
		entry->state = CACHE_EMPTY;
}

/* ------------------------------------------------------------------------------------
 * Loading a table.
 */

static TableKind
table_kind(const PartitionRow *row)
{
	if (row->partmethod == PARTMETHOD_HASH)
		return TABLE_HASH;
	if (row->partmethod == PARTMETHOD_RANGE)
		return TABLE_RANGE;
	if (row->partmethod == PARTMETHOD_APPEND)
		return TABLE_APPEND;
	if (row->partmethod == PARTMETHOD_NONE)
	{
		if (row->repmodel == REPMODEL_REFERENCE)
			return TABLE_REFERENCE;
		if (row->colocationid > 0 || node_local_group() != COORDINATOR_GROUP)
			return TABLE_SINGLE;
		return TABLE_MANAGED_LOCAL;
	}
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("distribution method '%c' of table \"%s\" is not supported",
						   row->partmethod, get_rel_name(row->logicalrelid))));
}

static int
compare_ids(const void *a, const void *b)
{
	const Shard *x = a;
	const Shard *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int
compare_hashes(const void *a, const void *b)
{
	const Shard *x = a;
	const Shard *y = b;

	if (x->min_hash != y->min_hash)
		return x->min_hash < y->min_hash ? -1 : 1;
	return compare_ids(a, b);
}

static int
compare_placements(const void *a, const void *b)
{
	const Placement *x = a;
	const Placement *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* In order of their ids, without placements. */
static void
table_load_ranges(DistTable *table, List *rows)
{
	foreach_ptr (ShardRow, row, rows)
	{
		Shard *shard = &table->shards[table->nshards++];

		bool hashed = table->kind == TABLE_HASH;

		shard->id = row->shardid;
		shard->min_hash = hashed && row->shardminvalue != NULL
							  ? pg_strtoint32(row->shardminvalue)
							  : PG_INT32_MIN;
		shard->max_hash = hashed && row->shardmaxvalue != NULL
							  ? pg_strtoint32(row->shardmaxvalue)
							  : PG_INT32_MAX;
	}
	qsort(table->shards, table->nshards, sizeof(Shard), compare_ids);
}

/* Both the shards and the rows are in order of the shards' ids. */
static void
table_load_placements(DistTable *table, List *rows, Placement *placements)
{
	int next = 0;

	for (int i = 0; i < table->nshards; i++)
	{
		Shard *shard = &table->shards[i];

		shard->placements = placements;
		for (; next < list_length(rows); next++)
		{
			const PlacementRow *row = list_nth(rows, next);

			if (row->shardid != shard->id)
				break;
			if (row->shardstate == PLACEMENT_ACTIVE)
				shard->placements[shard->nplacements++] =
					(Placement){row->placementid, row->groupid, row->shardstate};
		}
		qsort(shard->placements, shard->nplacements, sizeof(Placement),
			  compare_placements);
		placements += shard->nplacements;
	}
}

/* From the order of ids to that of ranges, in which a shard is known by its index. */
static void
table_order_shards(DistTable *table)
{
	table->by_id = palloc(sizeof(int) * Max(table->nshards, 1));
	for (int i = 0; i < table->nshards; i++)
		table->shards[i].index = i;
	qsort(table->shards, table->nshards, sizeof(Shard), compare_hashes);
	for (int i = 0; i < table->nshards; i++)
	{
		table->by_id[table->shards[i].index] = i;
		table->shards[i].index = i;
	}
}

/* The catalogs' rows have a context of their own: what stays is far less. */
static void
table_load_shards(DistTable *table)
{
	MemoryContext own = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(own, "pando table rows", ALLOCSET_DEFAULT_SIZES);
	List *shard_rows;
	List *rows;
	int64 *ids;

	MemoryContextSwitchTo(context);
	shard_rows = rows = catalog_shard_by_relid(table->relid);
	table->shards =
		MemoryContextAllocZero(own, sizeof(Shard) * Max(list_length(rows), 1));
	table_load_ranges(table, rows);

	ids = palloc(sizeof(int64) * Max(table->nshards, 1));
	for (int i = 0; i < table->nshards; i++)
		ids[i] = table->shards[i].id;
	rows = catalog_placement_by_shards(ids, table->nshards);
	table_load_placements(
		table, rows,
		MemoryContextAlloc(own, sizeof(Placement) * Max(list_length(rows), 1)));
	MemoryContextSwitchTo(own);

	DEBUG_STEPS(table->nshards);
	table_order_shards(table);
	if (table->kind == TABLE_RANGE)
		range_map_load(table, shard_rows);
	MemoryContextDelete(context);
	group_shards_load(table);
}

TypeCacheEntry *
hashable_type(Oid type)
{
	TypeCacheEntry *entry =
		lookup_type_cache(type, TYPECACHE_HASH_PROC | TYPECACHE_HASH_PROC_FINFO);

	if (!OidIsValid(entry->hash_proc))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
						errmsg("could not identify a hash function for type %s",
							   format_type_be(type))));
	return entry;
}

TypeCacheEntry *
comparable_type(Oid type)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_CMP_PROC);

	if (!OidIsValid(entry->cmp_proc))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
						errmsg("could not identify a comparison function for type %s",
							   format_type_be(type))));
	return entry;
}

static bool
column_is_not_null(Oid relid, AttrNumber column)
{
	HeapTuple tuple =
		SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(column));
	bool result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u", column, relid);
	result = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);
	return result;
}

static void
table_load_key(DistTable *table, const char *column)
{
	table->named_key = get_attnum(table->relid, column);
	if (table->named_key == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("distribution column \"%s\" of table \"%s\" does not exist",
						column, get_rel_name(table->relid))));
	if (table->kind == TABLE_APPEND)
		return;
	table->key = table->named_key;
	get_atttypetypmodcoll(table->relid, table->key, &table->key_type, &table->key_typmod,
						  &table->key_collation);

	table->key_not_null = column_is_not_null(table->relid, table->key);
	fmgr_info_cxt(hashable_type(table->key_type)->hash_proc, &table->hash,
				  CurrentMemoryContext);
}

/* Reads a table into the current memory context; NULL when it is not distributed. */
static DistTable *
table_load(Oid relid)
{
	PartitionRow *row = catalog_partition_by_relid(relid);
	DistTable *table;

	/* A row may outlive its table until the end of the command that drops it. */
	if (row == NULL || get_rel_relkind(relid) == '\0')
		return NULL;

	metadata_require_version();
	table = palloc0(sizeof(DistTable));
	table->relid = relid;
	table->kind = table_kind(row);
	table->partmethod = row->partmethod;
	table->repmodel = row->repmodel;
	table->colocation = row->colocationid;
	table->managed_local = row->partmethod == PARTMETHOD_NONE &&
						   row->repmodel != REPMODEL_REFERENCE && row->colocationid == 0;
	if (table->managed_local && table->kind == TABLE_SINGLE)
		table->colocation = MANAGED_LOCAL_COLOCATION;
	if (row->partkey != NULL)
		table_load_key(table, row->partkey);
	table_load_shards(table);
	if (table->kind != TABLE_MANAGED_LOCAL)
	{
		table->fires_here = changes_that_fire_here(table->relid);
		table->acts_here = changes_that_act_here(table->relid, &table->acting_columns);
		table->refers_to_itself = refers_to_itself(table->relid);
	}
	return table;
}

/* Replaces what an entry holds; takes over the context, NULL when there is no table. */
static void
table_entry_set(TableEntry *entry, DistTable *table, MemoryContext context)
{
	if (entry->context != NULL)
		metadata_cache_retire(entry->context);
	entry->table = table;
	entry->context = context;
}

static void
table_entry_load(TableEntry *entry)
{
	int loads = 0;

	do
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pando table",
													  ALLOCSET_SMALL_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);
		DistTable *table;

		entry->state = CACHE_LOADING;
		table = table_load(entry->relid);
		MemoryContextSwitchTo(old);

		if (table == NULL)
			MemoryContextDelete(context);
		else
			MemoryContextSetParent(context, metadata_cache_context());
		table_entry_set(entry, table, table != NULL ? context : NULL);
	} while (entry->state != CACHE_LOADING && ++loads < CACHE_MAX_LOADS);
	if (entry->state == CACHE_LOADING)
		entry->state = CACHE_VALID;
}

const DistTable *
dist_table(Oid relid)
{
	TableEntry *entry;
	bool found;

	if (relid < FirstNormalObjectId || !metadata_active())
		return NULL;
	if (table_cache == NULL)
		table_cache_create();

	entry = hash_search(table_cache, &relid, HASH_ENTER, &found);
	if (!found)
	{
		entry->state = CACHE_EMPTY;
		entry->table = NULL;
		entry->context = NULL;
	}
	if (entry->state != CACHE_VALID)
		table_entry_load(entry);
	return entry->table;
}

Oid
table_root(Oid relid)
{
	return get_rel_relispartition(relid) ? llast_oid(get_partition_ancestors(relid))
										 : relid;
}

const DistTable *
dist_table_require(Oid relid)
{
	const DistTable *table = dist_table(relid);

	if (table == NULL)
	{
		char *name = get_rel_name(relid);

		if (name == NULL)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
							errmsg("relation with OID %u does not exist", relid)));
		ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
						errmsg("table %s is not distributed", name)));
	}
	return table;
}

bool
dist_table_colocated(const DistTable *a, const DistTable *b)
{
	if (a->relid == b->relid)
		return true;
	return a->colocation != 0 && a->colocation == b->colocation && a->kind == b->kind;
}

static List *
table_rows_to_oids(List *rows)
{
	List *oids = NIL;

	foreach_ptr (PartitionRow, row, rows)
		oids = lappend_oid(oids, row->logicalrelid);
	return oids;
}

List *
dist_table_oids(void)
{
	return metadata_active() ? table_rows_to_oids(catalog_partition_all()) : NIL;
}

List *
dist_table_oids_of_colocation(int32 colocation)
{
	return metadata_active()
			   ? table_rows_to_oids(catalog_partition_by_colocation(colocation))
			   : NIL;
}

void
dist_table_invalidate(Oid relid)
{
	catalog_invalidate(relid);
}

/* ------------------------------------------------------------------------------------
 * Shards.
 */

int32
dist_table_hash(const DistTable *table, Datum value, bool isnull)
{
	/* As hash partitioning has it: NULL adds nothing to a row's hash. */
	if (isnull)
		return 0;
	/* The function's own cache is part of the table's memory: not const for it. */
	return DatumGetInt32(
		FunctionCall1Coll((FmgrInfo *) &table->hash, table->key_collation, value));
}

static int
shard_index_of_hash(const DistTable *table, int32 hash)
{
	int low = 0;
	int high = table->nshards - 1;

	while (low <= high)
	{
		int middle = (low + high) / 2;
		const Shard *shard = &table->shards[middle];

		if (hash < shard->min_hash)
			high = middle - 1;
		else if (hash > shard->max_hash)
			low = middle + 1;
		else
			return middle;
	}
	ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
					errmsg("no shard of table \"%s\" holds the hash value %d",
						   get_rel_name(table->relid), hash)));
}

bool
dist_table_key_tells(const DistTable *table)
{
	return table->kind == TABLE_HASH ||
		   (table->kind == TABLE_RANGE && range_map_is_whole(table));
}

int
shard_index_if_any(const DistTable *table, Datum value, bool isnull)
{
	if (table->kind == TABLE_RANGE)
		return isnull ? -1 : range_map_find(table, value);
	return shard_index_of_hash(table, dist_table_hash(table, value, isnull));
}

int
shard_index_of_value(const DistTable *table, Datum value, bool isnull)
{
	int index = shard_index_if_any(table, value, isnull);

	if (index < 0 && table->nshards == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no shards", get_rel_name(table->relid))));
	return Max(index, 0);
}

static void
no_shard_for_row(const DistTable *table, Datum value, bool isnull)
{
	const char *name = get_rel_name(table->relid);
	const char *column = get_attname(table->relid, table->key, false);
	Oid output;
	bool varlena;

	if (isnull)
		ereport(
			ERROR,
			(errcode(ERRCODE_NOT_NULL_VIOLATION),
			 errmsg("null value in distribution column \"%s\" of table \"%s\"", column,
					name),
			 errdetail("No range of the table's shards holds a row without a value.")));
	getTypeOutputInfo(table->key_type, &output, &varlena);
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("no shard of table \"%s\" holds the value %s of its distribution "
					"column \"%s\"",
					name, OidOutputFunctionCall(output, value), column),
			 errhint("Create a shard with master_create_empty_shard(), and set its range "
					 "in pg_dist_shard.")));
}

int
shard_index_for_row(const DistTable *table, Datum value, bool isnull)
{
	int index;

	if (table->kind == TABLE_APPEND)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rows of table \"%s\", which is distributed by append, are not "
						"stored by their values",
						get_rel_name(table->relid)),
				 errhint("Use COPY with the option append_to_shard.")));
	if (table->kind == TABLE_RANGE)
		range_map_check(table);
	index = shard_index_if_any(table, value, isnull);
	if (index < 0)
		no_shard_for_row(table, value, isnull);
	return index;
}

const Shard *
shard_of_table(const DistTable *table, int64 shard_id)
{
	int low = 0;
	int high = table->nshards - 1;

	while (low <= high)
	{
		int middle = (low + high) / 2;
		const Shard *shard = &table->shards[table->by_id[middle]];

		if (shard->id == shard_id)
			return shard;
		if (shard->id < shard_id)
			low = middle + 1;
		else
			high = middle - 1;
	}
	return NULL;
}

/* Finds it in the table that a hint or the catalog names; NULL if it isn't there. */
static const Shard *
shard_in_table(int64 shard_id, Oid relid, const DistTable **table)
{
	const DistTable *candidate = dist_table(relid);

	if (candidate == NULL)
		return NULL;
	if (table != NULL)
		*table = candidate;
	return shard_of_table(candidate, shard_id);
}

const Shard *
shard_by_id(int64 shard_id, const DistTable **table)
{
	ShardEntry *hint = NULL;
	const Shard *shard = NULL;
	ShardRow *row;
	bool found;

	if (table != NULL)
		*table = NULL;
	if (!metadata_active())
		return NULL;
	if (table_cache == NULL)
		table_cache_create();

	hint = hash_search(shard_hints, &shard_id, HASH_FIND, NULL);
	if (hint != NULL)
		shard = shard_in_table(shard_id, hint->relid, table);
	if (shard != NULL)
		return shard;

	row = catalog_shard_by_id(shard_id);
	if (row == NULL)
		return NULL;
	shard = shard_in_table(shard_id, row->logicalrelid, table);
	if (shard == NULL)
		return NULL;
	hint = hash_search(shard_hints, &shard_id, HASH_ENTER, &found);
	hint->relid = row->logicalrelid;
	return shard;
}
