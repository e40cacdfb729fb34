/*
 * distinct_set.c: the distinct values of a column as one value.
 *
 * For count(DISTINCT column) the values are all that has to come here, and of rows the
 * bulk is not the values. pando.distinct_set(column) collects those of a task, without
 * duplicates; pando.distinct_count(set) counts those of several sets. Types that are
 * passed by value and equal when their bytes are: numbers are sorted by radix, which is
 * faster than PostgreSQL's own sort for DISTINCT.
 *
 * A set is an array that is sorted, and rid of duplicates, whenever it is full: memory
 * depends on the number of distinct values. It can't spill: split_aggregates.c chooses.
 *
 * As bytes: MARK, the width of a value (4 or 8), the sorted values, in the node's order.
 */
#include "pando/compat/compat.h"

#include "access/nbtree.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "pando/base/type.h"
#include "pando/planner/residual/aggregate/distinct_set.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(distinct_set_step);
PG_FUNCTION_INFO_V1(distinct_set_done);
PG_FUNCTION_INFO_V1(distinct_count_step);
PG_FUNCTION_INFO_V1(distinct_count_done);

/* Tells a node with another order of bytes. */
#define MARK 0x50444953

#define FIRST_ROOM 8

/* Below that many a comparing sort is as good. */
#define RADIX_MIN 256

typedef struct DistinctSet
{
	int width;	  /* of a value as bytes */
	uint64 mask;  /* what of a Datum is the value */
	uint64 count; /* in use; sorted and distinct up to `clean` */
	uint64 clean;
	uint64 room;
	uint64 *values;
} DistinctSet;

typedef struct SetHeader
{
	int32 length; /* varlena's */
	uint32 mark;
	uint32 width;
	uint32 unused;
} SetHeader;

/* ------------------------------------------------------------------------------------
 * What a set can hold.
 */

bool
distinct_set_counts(const Aggref *aggref)
{
	const SortGroupClause *distinct;
	const TargetEntry *argument;
	TypeCacheEntry *type;
	Oid image;

	if (aggref->aggfnoid != F_COUNT_ANY || list_length(aggref->aggdistinct) != 1)
		return false;
	distinct = linitial(aggref->aggdistinct);
	argument = linitial(aggref->args);
	type = lookup_type_cache(exprType((Node *) argument->expr),
							 TYPECACHE_EQ_OPR | TYPECACHE_BTREE_OPFAMILY);
	if (!type->typbyval || type->typtype != TYPTYPE_BASE ||
		!type_travels_binary(type->type_id) || distinct->eqop != type->eq_opr ||
		!OidIsValid(type->btree_opf))
		return false;
	image = get_opfamily_proc(type->btree_opf, type->btree_opintype, type->btree_opintype,
							  BTEQUALIMAGE_PROC);
	return OidIsValid(image) &&
		   DatumGetBool(OidFunctionCall1Coll(image, InvalidOid,
											 ObjectIdGetDatum(type->btree_opintype)));
}

double
distinct_set_bytes(double values)
{
	return 2 * values * sizeof(uint64);
}

/* ------------------------------------------------------------------------------------
 * Sorting.
 */

static int
compare_values(const void *a, const void *b)
{
	uint64 left = *(const uint64 *) a;
	uint64 right = *(const uint64 *) b;

	return left < right ? -1 : left > right;
}

/* By one byte after the other, the lowest first; bytes that all share are left out. */
static void
radix_sort(uint64 *values, uint64 count)
{
	uint64(*starts)[256] = palloc0(sizeof(uint64[8][256]));
	uint64 *from = values;
	uint64 *to = palloc_extended(count * sizeof(uint64), MCXT_ALLOC_HUGE);
	uint64 *spare = to;

	for (uint64 i = 0; i < count; i++)
	{
		for (int byte = 0; byte < 8; byte++)
			starts[byte][(values[i] >> (8 * byte)) & 0xff]++;
	}
	for (int byte = 0; byte < 8; byte++)
	{
		uint64 start = 0;
		uint64 *swap = from;

		if (starts[byte][(values[0] >> (8 * byte)) & 0xff] == count)
			continue;
		for (int digit = 0; digit < 256; digit++)
		{
			uint64 size = starts[byte][digit];

			starts[byte][digit] = start;
			start += size;
		}
		for (uint64 i = 0; i < count; i++)
			to[starts[byte][(from[i] >> (8 * byte)) & 0xff]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != values)
		memcpy(values, from, count * sizeof(uint64));
	pfree(spare);
	pfree(starts);
}

/* Sorted and without duplicates. */
static void
set_clean(DistinctSet *set)
{
	uint64 kept = 0;

	if (set->clean == set->count)
		return;
	if (set->count < RADIX_MIN)
		qsort(set->values, set->count, sizeof(uint64), compare_values);
	else
		radix_sort(set->values, set->count);
	for (uint64 i = 0; i < set->count; i++)
	{
		if (kept == 0 || set->values[kept - 1] != set->values[i])
			set->values[kept++] = set->values[i];
	}
	set->count = set->clean = kept;
}

/* Room for so many more values. */
static void
set_reserve(DistinctSet *set, uint64 more)
{
	if (set->count + more <= set->room)
		return;
	set_clean(set);
	/* Half of it is free after that, so that the next sort is worth it. */
	if (set->room < 2 * (set->count + more))
	{
		set->room = 2 * (set->count + more);
		set->values = repalloc_huge(set->values, set->room * sizeof(uint64));
	}
}

/* ------------------------------------------------------------------------------------
 * The aggregates.
 */

static DistinctSet *
set_create(FunctionCallInfo fcinfo, int width, uint64 mask)
{
	MemoryContext context;
	DistinctSet *set;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	set = MemoryContextAllocZero(context, sizeof(DistinctSet));
	set->width = width;
	set->mask = mask;
	set->room = FIRST_ROOM;
	set->values = MemoryContextAlloc(context, set->room * sizeof(uint64));
	return set;
}

static DistinctSet *
set_for_type(FunctionCallInfo fcinfo)
{
	Oid type = get_fn_expr_argtype(fcinfo->flinfo, 1);
	int16 length;
	bool by_value;

	if (!OidIsValid(type))
		elog(ERROR, "could not determine the type of a set");
	get_typlenbyval(type, &length, &by_value);
	if (!by_value)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a set cannot hold values of type %s", format_type_be(type))));
	return set_create(fcinfo, length <= 4 ? 4 : 8,
					  length == 8 ? ~UINT64CONST(0)
								  : (UINT64CONST(1) << (8 * length)) - 1);
}

/* distinct_set_step(internal, anyelement) returns internal */
Datum
distinct_set_step(PG_FUNCTION_ARGS)
{
	DistinctSet *set = PG_ARGISNULL(0) ? NULL : (DistinctSet *) PG_GETARG_POINTER(0);

	if (PG_ARGISNULL(1))
	{
		if (set == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(set);
	}
	if (set == NULL)
		set = set_for_type(fcinfo);
	if (set->count == set->room)
		set_reserve(set, 1);
	set->values[set->count++] = (uint64) PG_GETARG_DATUM(1) & set->mask;
	PG_RETURN_POINTER(set);
}

/* distinct_set_done(internal) returns bytea; NULL: no values */
Datum
distinct_set_done(PG_FUNCTION_ARGS)
{
	DistinctSet *set = PG_ARGISNULL(0) ? NULL : (DistinctSet *) PG_GETARG_POINTER(0);
	SetHeader *result;
	Size length;

	if (set == NULL)
		PG_RETURN_NULL();
	set_clean(set);
	length = sizeof(SetHeader) + set->count * set->width;
	if (!AllocSizeIsValid(length))
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("too many distinct values to be counted at once"),
						errdetail("One shard has %llu.", (unsigned long long) set->count),
						errhint("ANALYZE the table, so that their number is known.")));
	result = palloc0(length);
	SET_VARSIZE(result, length);
	result->mark = MARK;
	result->width = set->width;
	if (set->width == 8)
		memcpy(result + 1, set->values, set->count * sizeof(uint64));
	else
	{
		uint32 *narrow = (uint32 *) (result + 1);

		for (uint64 i = 0; i < set->count; i++)
			narrow[i] = (uint32) set->values[i];
	}
	PG_RETURN_POINTER(result);
}

static void
set_add(DistinctSet *set, const char *bytes, uint64 count)
{
	set_reserve(set, count);
	if (set->width == 8)
		memcpy(set->values + set->count, bytes, count * sizeof(uint64));
	else
	{
		const uint32 *narrow = (const uint32 *) bytes;

		for (uint64 i = 0; i < count; i++)
			set->values[set->count + i] = narrow[i];
	}
	set->count += count;
}

/* distinct_count_step(internal, bytea) returns internal */
Datum
distinct_count_step(PG_FUNCTION_ARGS)
{
	DistinctSet *set = PG_ARGISNULL(0) ? NULL : (DistinctSet *) PG_GETARG_POINTER(0);
	SetHeader header;
	bytea *bytes;
	Size length;

	if (PG_ARGISNULL(1))
	{
		if (set == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(set);
	}
	bytes = PG_GETARG_BYTEA_P(1);
	length = VARSIZE(bytes);
	if (length >= sizeof(SetHeader))
		memcpy(&header, bytes, sizeof(SetHeader));
	if (length < sizeof(SetHeader) || header.mark != MARK ||
		(header.width != 4 && header.width != 8) ||
		(set != NULL && header.width != set->width) ||
		(length - sizeof(SetHeader)) % header.width != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
						errmsg("invalid set of distinct values")));
	if (set == NULL)
		set = set_create(fcinfo, header.width, 0);
	set_add(set, (char *) bytes + sizeof(SetHeader),
			(length - sizeof(SetHeader)) / header.width);
	PG_RETURN_POINTER(set);
}

/* distinct_count_done(internal) returns bigint */
Datum
distinct_count_done(PG_FUNCTION_ARGS)
{
	DistinctSet *set = PG_ARGISNULL(0) ? NULL : (DistinctSet *) PG_GETARG_POINTER(0);

	if (set == NULL)
		PG_RETURN_INT64(0);
	set_clean(set);
	PG_RETURN_INT64((int64) set->count);
}
