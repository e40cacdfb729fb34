/*
 * range.c: which shard of a table that is split by ranges holds a value.
 *
 * Both ends of a range belong to it. Who sets them by hand may leave some unset, and may
 * make two that overlap while he is about it: nothing is concluded from a value then, all
 * shards are read, and no row is stored where ranges overlap.
 */
#include "pando/compat/compat.h"

#include "access/nbtree.h"
#include "nodes/pg_list.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/shard.h"
#include "pando/metadata/range.h"

typedef struct Range
{
	Datum min;
	Datum max;
	bool known;
} Range;

/* In the order of the shards. */
struct RangeMap
{
	FmgrInfo compare;
	Oid collation;
	int nknown;
	int overlap; /* index of the first shard that overlaps the next, -1: none does */
	Range *ranges;
};

static int
compare_values(const RangeMap *map, Datum a, Datum b)
{
	/* The function's own cache is part of the map's memory: not const for it. */
	return DatumGetInt32(
		FunctionCall2Coll((FmgrInfo *) &map->compare, map->collation, a, b));
}

/* ------------------------------------------------------------------------------------
 * Loading
 */

typedef struct Bound
{
	const char *column;
	int64 shard;
} Bound;

static void
bound_context(void *arg)
{
	const Bound *bound = arg;

	errcontext("%s of shard " INT64_FORMAT, bound->column, bound->shard);
}

/* The type's value, without the checks that a domain would add. */
static Datum
bound_value(const DistTable *table, const char *text, int64 shard, const char *column)
{
	Bound bound = {column, shard};
	ErrorContextCallback context = {
		.previous = error_context_stack, .callback = bound_context, .arg = &bound};
	Oid input;
	Oid ioparam;
	Datum value;

	error_context_stack = &context;
	getTypeInputInfo(getBaseType(table->key_type), &input, &ioparam);
	value = OidInputFunctionCall(input, pstrdup(text), ioparam, -1);
	error_context_stack = context.previous;
	return value;
}

static int
compare_shards(const void *a, const void *b, void *arg)
{
	const Shard *x = a;
	const Shard *y = b;
	const RangeMap *map = arg;
	const Range *of_x = &map->ranges[x->index];
	const Range *of_y = &map->ranges[y->index];
	int order = 0;

	if (of_x->known != of_y->known)
		return of_x->known ? -1 : 1;
	if (of_x->known)
		order = compare_values(map, of_x->min, of_y->min);
	if (order == 0)
		order = x->id < y->id ? -1 : x->id > y->id;
	return order;
}

static void
read_bounds(DistTable *table, List *rows)
{
	RangeMap *map = table->ranges;
	int level = sql_pin_search_path();

	set_config_option("datestyle", "ISO, MDY", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	set_config_option("timezone", "UTC", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
					  true, 0, false);
	foreach_ptr (ShardRow, row, rows)
	{
		const Shard *shard = shard_of_table(table, row->shardid);
		Range *range = &map->ranges[shard->index];

		if (row->shardminvalue == NULL || row->shardmaxvalue == NULL)
			continue;
		range->known = true;
		range->min =
			bound_value(table, row->shardminvalue, row->shardid, "shardminvalue");
		range->max =
			bound_value(table, row->shardmaxvalue, row->shardid, "shardmaxvalue");
		map->nknown++;
	}
	AtEOXact_GUC(true, level);
}

/* From the order of ids, in which the ranges were read, to that of the ranges. */
static void
order_by_range(DistTable *table)
{
	RangeMap *map = table->ranges;
	Range *by_id = map->ranges;

	qsort_arg(table->shards, table->nshards, sizeof(Shard), compare_shards, map);
	map->ranges = palloc(sizeof(Range) * Max(table->nshards, 1));
	for (int i = 0; i < table->nshards; i++)
	{
		map->ranges[i] = by_id[table->shards[i].index];
		table->by_id[table->shards[i].index] = i;
		table->shards[i].index = i;
	}
	pfree(by_id);
}

static void
find_overlap(RangeMap *map)
{
	map->overlap = -1;
	for (int i = 0; i < map->nknown; i++)
	{
		const Range *range = &map->ranges[i];

		/* An end before the beginning leaves the order of the ranges in doubt. */
		if (compare_values(map, range->min, range->max) > 0 ||
			(i + 1 < map->nknown &&
			 compare_values(map, range->max, map->ranges[i + 1].min) >= 0))
		{
			map->overlap = i;
			return;
		}
	}
}

void
range_map_load(DistTable *table, List *rows)
{
	RangeMap *map = palloc0(sizeof(RangeMap));

	DEBUG_STEPS(table->nshards);
	table->ranges = map;
	map->collation = table->key_collation;
	fmgr_info_cxt(comparable_type(table->key_type)->cmp_proc, &map->compare,
				  CurrentMemoryContext);
	map->ranges = palloc0(sizeof(Range) * Max(table->nshards, 1));
	read_bounds(table, rows);
	order_by_range(table);
	find_overlap(map);
}

/* ------------------------------------------------------------------------------------
 * Asking
 */

bool
range_map_is_whole(const DistTable *table)
{
	const RangeMap *map = table->ranges;

	return table->nshards > 0 && map->nknown == table->nshards && map->overlap < 0;
}

void
range_map_check(const DistTable *table)
{
	const RangeMap *map = table->ranges;
	int at = map->overlap;
	bool backwards;

	if (at < 0)
		return;
	backwards = compare_values(map, map->ranges[at].min, map->ranges[at].max) > 0;
	if (backwards)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("the range of shard " INT64_FORMAT
						" of table %s ends before it begins",
						table->shards[at].id, name_qualified(table->relid)),
				 errhint("Set shardminvalue and shardmaxvalue in pg_dist_shard.")));
	ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
					errmsg("the ranges of shards " INT64_FORMAT " and " INT64_FORMAT
						   " of table %s overlap",
						   table->shards[at].id, table->shards[at + 1].id,
						   name_qualified(table->relid)),
					errhint("Set shardminvalue and shardmaxvalue in pg_dist_shard.")));
}

bool
range_map_holds(const DistTable *table, int index, Datum value)
{
	const RangeMap *map = table->ranges;
	const Range *range = &map->ranges[index];

	return !range->known || (compare_values(map, value, range->min) >= 0 &&
							 compare_values(map, value, range->max) <= 0);
}

int
range_map_find(const DistTable *table, Datum value)
{
	const RangeMap *map = table->ranges;
	int low = 0;
	int high = map->nknown - 1;

	while (low <= high)
	{
		int middle = (low + high) / 2;
		const Range *range = &map->ranges[middle];

		if (compare_values(map, value, range->min) < 0)
			high = middle - 1;
		else if (compare_values(map, value, range->max) > 0)
			low = middle + 1;
		else
			return middle;
	}
	return -1;
}
