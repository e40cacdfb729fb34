/*
 * order.c: the rows of a run in one order.
 *
 * A fragment with an order has the nodes sort: each session's rows come sorted, and are
 * merged here as they arrive, never collected. A *stream* is a flight, or the rows of
 * this node's own tasks, which are sorted here. A flight that another statement pushes
 * aside leaves its rest in a spill of its own, so that the order stays.
 *
 * Where a session's rows would come as several sorted pieces (EXPLAIN ANALYZE runs the
 * tasks one by one; a statement of very many tasks is cut) all rows are sorted here, as
 * those of RETURNING are under citus.sort_returning.
 */
#include "pando/compat/compat.h"

#include "executor/executor.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"

#include "pando/executor/flight.h"
#include "pando/executor/order.h"
#include "pando/executor/run.h"
#include "pando/executor/settings.h"
#include "pando/executor/spill.h"

typedef struct SortKeys
{
	int count;
	AttrNumber *columns;
	Oid *operators;
	Oid *collations;
	bool *nulls_first;
} SortKeys;

typedef struct Stream
{
	Flight *flight;		   /* NULL: this node's rows, in run->sort */
	MemoryContext context; /* of the row at hand */
	Datum *values;
	bool *nulls;
} Stream;

struct Merge
{
	SortSupport keys;
	int nkeys;
	List *streams;
	binaryheap *heap; /* of the streams with a row at hand; NULL: nothing was read yet */
};

/* ------------------------------------------------------------------------------------
 * Keys.
 */

static SortKeys
keys_create(int limit)
{
	SortKeys keys = {0};

	keys.columns = palloc(sizeof(AttrNumber) * limit);
	keys.operators = palloc(sizeof(Oid) * limit);
	keys.collations = palloc(sizeof(Oid) * limit);
	keys.nulls_first = palloc(sizeof(bool) * limit);
	return keys;
}

static void
keys_add(const FragmentRun *run, SortKeys *keys, AttrNumber column, Oid operator_id,
		 bool nulls_first)
{
	keys->columns[keys->count] = column;
	keys->operators[keys->count] = operator_id;
	keys->collations[keys->count] = TupleDescAttr(run->desc, column - 1)->attcollation;
	keys->nulls_first[keys->count++] = nulls_first;
}

static SortKeys
keys_of_fragment(const FragmentRun *run)
{
	SortKeys keys = keys_create(list_length(run->fragment->order));

	foreach_ptr (SortGroupClause, clause, run->fragment->order)
		keys_add(run, &keys, clause->tleSortGroupRef, clause->sortop,
				 clause->nulls_first);
	return keys;
}

/* All columns that have an order. */
static SortKeys
keys_of_row(const FragmentRun *run)
{
	SortKeys keys = keys_create(run->desc->natts);

	for (int i = 0; i < run->desc->natts; i++)
	{
		TypeCacheEntry *type =
			lookup_type_cache(TupleDescAttr(run->desc, i)->atttypid, TYPECACHE_LT_OPR);

		if (OidIsValid(type->lt_opr))
			keys_add(run, &keys, i + 1, type->lt_opr, false);
	}
	return keys;
}

/* ------------------------------------------------------------------------------------
 * Sorting here.
 */

typedef bool (*NextRow)(FragmentRun *run, Datum *values, bool *nulls);

static void
sort_begin(FragmentRun *run, SortKeys keys)
{
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = run->owner;
	run->sort = tuplesort_begin_heap(run->desc, keys.count, keys.columns, keys.operators,
									 keys.collations, keys.nulls_first, work_mem, NULL,
									 TUPLESORT_NONE);
	CurrentResourceOwner = owner;
}

/* Takes in all rows that next() gives. */
static void
sort_take(FragmentRun *run, NextRow next)
{
	TupleTableSlot *slot = MakeTupleTableSlot(run->desc, &TTSOpsVirtual);
	bool found;

	do
	{
		MemoryContext old = MemoryContextSwitchTo(run_row_context(run));

		ExecClearTuple(slot);
		found = next(run, slot->tts_values, slot->tts_isnull);
		if (found)
			tuplesort_puttupleslot(run->sort, ExecStoreVirtualTuple(slot));
		MemoryContextSwitchTo(old);
		MemoryContextReset(run->row_context);
	} while (found);
}

static void
sort_perform(FragmentRun *run)
{
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = run->owner;
	tuplesort_performsort(run->sort);
	CurrentResourceOwner = owner;
}

static void
sort_all(FragmentRun *run, SortKeys keys)
{
	if (keys.count == 0)
		return;
	sort_begin(run, keys);
	sort_take(run, run_next_unordered);
	sort_perform(run);
}

static bool
next_sorted(FragmentRun *run, Datum *values, bool *nulls)
{
	TupleTableSlot *slot = spill_slot(run, &run->spill);
	MemoryContext old = MemoryContextSwitchTo(run->context);
	bool found = tuplesort_gettupleslot(run->sort, true, false, slot, NULL);

	MemoryContextSwitchTo(old);
	if (found)
		slot_values(slot, run->desc->natts, values, nulls);
	return found;
}

/* ------------------------------------------------------------------------------------
 * Merging.
 */

static Merge *
merge_create(FragmentRun *run)
{
	Merge *merge = palloc0(sizeof(Merge));
	SortKeys keys = keys_of_fragment(run);

	merge->nkeys = keys.count;
	merge->keys = palloc0(sizeof(SortSupportData) * keys.count);
	for (int i = 0; i < keys.count; i++)
	{
		SortSupport key = &merge->keys[i];

		key->ssup_cxt = run->context;
		key->ssup_collation = keys.collations[i];
		key->ssup_nulls_first = keys.nulls_first[i];
		key->ssup_attno = keys.columns[i];
		PrepareSortSupportFromOrderingOp(keys.operators[i], key);
	}
	return merge;
}

/* The heap has its greatest on top: that must be the row to come first. */
static int
compare_streams(Datum a, Datum b, void *argument)
{
	const Merge *merge = argument;
	const Stream *x = (const Stream *) DatumGetPointer(a);
	const Stream *y = (const Stream *) DatumGetPointer(b);

	for (int i = 0; i < merge->nkeys; i++)
	{
		SortSupport key = &merge->keys[i];
		int column = key->ssup_attno - 1;
		int order = ApplySortComparator(x->values[column], x->nulls[column],
										y->values[column], y->nulls[column], key);

		if (order != 0)
			return order < 0 ? 1 : -1;
	}
	return 0;
}

static void
stream_create(FragmentRun *run, Flight *flight)
{
	Stream *stream = palloc0(sizeof(Stream));

	stream->flight = flight;
	stream->context = AllocSetContextCreate(run->context, "pando fragment stream",
											ALLOCSET_SMALL_SIZES);
	stream->values = palloc(sizeof(Datum) * run->desc->natts);
	stream->nulls = palloc(sizeof(bool) * run->desc->natts);
	run->merge->streams = lappend(run->merge->streams, stream);
}

static bool
next_of_stream(FragmentRun *run, Stream *stream)
{
	Flight *flight = stream->flight;
	Task *task;

	if (flight == NULL)
		return next_sorted(run, stream->values, stream->nulls);
	for (;;)
	{
		/* What it was drained of comes after what it handed out. */
		if (spill_next(run, flight->spill, stream->values, stream->nulls) ||
			flight_next(flight, stream->values, stream->nulls, &task))
			return true;
		if (!flight_is_over(flight))
			(void) session_wait_any(list_make1(flight->session), -1);
		else if (flight->spill->taken == flight->spill->put)
			return false;
	}
}

/* Puts the stream's next row at hand; false: there is none. */
static bool
stream_advance(FragmentRun *run, Stream *stream)
{
	MemoryContext old = MemoryContextSwitchTo(stream->context);
	bool found;

	MemoryContextReset(stream->context);
	found = next_of_stream(run, stream);
	MemoryContextSwitchTo(old);
	return found;
}

/* A local plan that runs whole leaves its rows in the spill. */
static bool
next_of_this_node(FragmentRun *run, Datum *values, bool *nulls)
{
	return spill_next(run, &run->spill, values, nulls) ||
		   run_next_local(run, values, nulls);
}

/*
 * The first row of each stream. A node that can't be reached gives its tasks to others
 * before its first row: to new flights, for which others may be pushed aside, or to this
 * node.
 */
static void
merge_start(FragmentRun *run)
{
	Merge *merge = run->merge;
	List *ready = NIL;
	int started = 0;

	do
	{
		if (tasks_waiting(&run->local_tasks) > 0 && run->sort == NULL)
		{
			sort_begin(run, keys_of_fragment(run));
			stream_create(run, NULL);
		}
		if (tasks_waiting(&run->local_tasks) > 0)
			sort_take(run, next_of_this_node);
		while (started < list_length(merge->streams))
		{
			Stream *stream = list_nth(merge->streams, started++);

			if (stream->flight != NULL && stream_advance(run, stream))
				ready = lappend(ready, stream);
		}
	} while (tasks_waiting(&run->local_tasks) > 0);
	if (run->sort != NULL)
		sort_perform(run);
	foreach_ptr (Stream, stream, merge->streams)
	{
		if (stream->flight == NULL && stream_advance(run, stream))
			ready = lappend(ready, stream);
	}
	merge->heap = binaryheap_allocate(Max(1, list_length(ready)), compare_streams, merge);
	foreach_ptr (Stream, stream, ready)
		binaryheap_add_unordered(merge->heap, PointerGetDatum(stream));
	binaryheap_build(merge->heap);
}

static bool
next_merged(FragmentRun *run, Datum *values, bool *nulls)
{
	Merge *merge = run->merge;
	Stream *stream;

	if (merge->heap == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(run->context);

		merge_start(run);
		MemoryContextSwitchTo(old);
	}
	else if (!binaryheap_empty(merge->heap))
	{
		/* Its row was handed out. */
		stream = (Stream *) DatumGetPointer(binaryheap_first(merge->heap));
		if (stream_advance(run, stream))
			binaryheap_replace_first(merge->heap, PointerGetDatum(stream));
		else
			(void) binaryheap_remove_first(merge->heap);
	}
	if (binaryheap_empty(merge->heap))
		return false;
	stream = (Stream *) DatumGetPointer(binaryheap_first(merge->heap));
	memcpy(values, stream->values, sizeof(Datum) * run->desc->natts);
	memcpy(nulls, stream->nulls, sizeof(bool) * run->desc->natts);
	return true;
}

/* ------------------------------------------------------------------------------------
 * A run's order.
 */

/* Before any task is sent: a merge decides how they go. */
void
order_choose(FragmentRun *run)
{
	if (run->fragment->order != NIL && !run->explain.analyze &&
		list_length(run->tasks) <= MAX_UNION)
		run->merge = merge_create(run);
}

/* Where a flight's rows go that it can't hand out: before any come. */
Spill *
order_spill(FragmentRun *run, Flight *flight)
{
	if (run->merge == NULL)
		return &run->spill;
	stream_create(run, flight);
	return palloc0(sizeof(Spill));
}

/* The tasks are under way, or a write is done: sorts, if all rows must be here first. */
void
order_start(FragmentRun *run)
{
	const Fragment *fragment = run->fragment;

	if (run->merge != NULL)
		return;
	if (fragment->order != NIL)
		sort_all(run, keys_of_fragment(run));
	else if (executor_sort_returning && fragment->command != CMD_SELECT &&
			 run->desc != NULL && list_length(run->tasks) > 1)
		sort_all(run, keys_of_row(run));
}

bool
order_next(FragmentRun *run, Datum *values, bool *nulls)
{
	if (run->merge != NULL)
		return next_merged(run, values, nulls);
	if (run->sort != NULL)
		return next_sorted(run, values, nulls);
	return run_next_unordered(run, values, nulls);
}

void
order_end(FragmentRun *run)
{
	if (run->sort != NULL)
		tuplesort_end(run->sort);
	if (run->merge == NULL)
		return;
	foreach_ptr (Stream, stream, run->merge->streams)
	{
		if (stream->flight != NULL)
			spill_end(stream->flight->spill);
	}
}
