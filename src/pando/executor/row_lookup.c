/*
 * row_lookup.c: the plan node "Citus Row Lookup": finds rows of its child by values of an
 * outer query.
 *
 * The child gives the same rows however often the node is scanned, so it is read once.
 * The first scan hands its rows on as they come and keeps them by the hash of the key
 * columns; the next one reads what the first has left, and from then on a scan looks only
 * at rows that have the hash of its values. The node's filters, which hold the
 * comparisons, do the rest: different keys may have one hash. Since the comparisons are
 * strict, rows with NULL among their keys are not kept, and NULL among the values finds
 * nothing.
 *
 * Rows are in memory up to hash_mem. More of them are shared out among files by their
 * hash, and a scan reads the file of its values.
 */
#include "pando/compat/compat.h"

#include "commands/explain.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "pando/base/debug_point.h"
#include "pando/executor/row_lookup.h"
#include "pando/executor/spill.h"
#include "pando/plan/fragment.h"

/* Files that rows are shared out among, a power of two. */
#define FILE_BITS 6
#define FILES (1 << FILE_BITS)

/* The row itself follows. */
typedef struct KeptRow
{
	struct KeptRow *next;
	uint32 hash;
} KeptRow;

#define KEPT_ROW_HEADER MAXALIGN(sizeof(KeptRow))
#define KEPT_TUPLE(row) ((MinimalTuple) ((char *) (row) + KEPT_ROW_HEADER))

typedef struct LookupKey
{
	AttrNumber column;
	ExprState *value;
	FmgrInfo column_hash;
	FmgrInfo value_hash;
	Oid collation;
} LookupKey;

typedef struct RowLookup
{
	CustomScanState css;
	int nkeys;
	LookupKey *keys;
	TupleTableSlot *kept_slot;
	bool started;  /* a scan has asked for a row */
	bool repeated; /* and this is another one */
	bool complete; /* all of the child's rows are kept */
	bool decided;  /* `found` or `file` is for the values as they are now */

	/* Rows in memory. */
	MemoryContext memory;
	uint64 count;
	KeptRow *last;	   /* until complete: all of them, from the last to the first */
	KeptRow **buckets; /* when complete: those of one hash in their order */
	uint32 mask;
	KeptRow *found; /* what is to be looked at next */
	uint32 hash;	/* of the values */

	/* Or in files. */
	Tuplestorestate **files;
	Tuplestorestate *file; /* what is read, NULL: nothing */
} RowLookup;

/* ------------------------------------------------------------------------------------
 * Keeping rows.
 */

static bool
add_hash(uint32 *hash, LookupKey *key, FmgrInfo *function, Datum value, bool isnull)
{
	if (isnull)
		return false;
	*hash = pg_rotate_left32(*hash, 1) ^
			DatumGetUInt32(FunctionCall1Coll(function, key->collation, value));
	return true;
}

/* False if one of the keys is NULL. */
static bool
hash_of_row(RowLookup *lookup, TupleTableSlot *row, uint32 *hash)
{
	bool known = true;
	MemoryContext old =
		MemoryContextSwitchTo(lookup->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);

	*hash = 0;
	for (int i = 0; i < lookup->nkeys && known; i++)
	{
		LookupKey *key = &lookup->keys[i];
		bool isnull;
		Datum value = slot_getattr(row, key->column, &isnull);

		known = add_hash(hash, key, &key->column_hash, value, isnull);
	}
	MemoryContextSwitchTo(old);
	*hash = murmurhash32(*hash);
	return known;
}

static bool
hash_of_values(RowLookup *lookup, uint32 *hash)
{
	ExprContext *econtext = lookup->css.ss.ps.ps_ExprContext;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	bool known = true;

	*hash = 0;
	for (int i = 0; i < lookup->nkeys && known; i++)
	{
		LookupKey *key = &lookup->keys[i];
		bool isnull;
		Datum value = ExecEvalExpr(key->value, econtext, &isnull);

		known = add_hash(hash, key, &key->value_hash, value, isnull);
	}
	MemoryContextSwitchTo(old);
	*hash = murmurhash32(*hash);
	return known;
}

static Tuplestorestate *
file_of_hash(RowLookup *lookup, uint32 hash)
{
	return lookup->files[hash >> (32 - FILE_BITS)];
}

static void
put_in_file(RowLookup *lookup, uint32 hash, MinimalTuple tuple)
{
	ExecStoreMinimalTuple(tuple, lookup->kept_slot, false);
	tuplestore_puttupleslot(file_of_hash(lookup, hash), lookup->kept_slot);
	ExecClearTuple(lookup->kept_slot);
}

/* Shares out the rows in memory, in the order in which they came. */
static void
move_to_files(RowLookup *lookup)
{
	MemoryContext old = MemoryContextSwitchTo(lookup->css.ss.ps.state->es_query_cxt);
	KeptRow *first = NULL;

	lookup->files = palloc(sizeof(Tuplestorestate *) * FILES);
	for (int i = 0; i < FILES; i++)
	{
		lookup->files[i] = tuplestore_begin_heap(false, false, Max(64, work_mem / FILES));
		tuplestore_set_eflags(lookup->files[i], EXEC_FLAG_REWIND);
	}
	MemoryContextSwitchTo(old);
	while (lookup->last != NULL)
	{
		KeptRow *row = lookup->last;

		lookup->last = row->next;
		row->next = first;
		first = row;
	}
	for (; first != NULL; first = first->next)
		put_in_file(lookup, first->hash, KEPT_TUPLE(first));
	MemoryContextReset(lookup->memory);
}

static bool
is_over_limit(const RowLookup *lookup)
{
	return MemoryContextMemAllocated(lookup->memory, false) +
			   lookup->count * sizeof(KeptRow *) >
		   get_hash_memory_limit();
}

static void
keep_row(RowLookup *lookup, TupleTableSlot *slot)
{
	bool shouldfree;
	MinimalTuple tuple;
	uint32 hash;

	DEBUG_STEPS(1);
	if (!hash_of_row(lookup, slot, &hash))
		return;
	tuple = ExecFetchSlotMinimalTuple(slot, &shouldfree);
	if (lookup->files == NULL)
	{
		KeptRow *row = MemoryContextAlloc(lookup->memory, KEPT_ROW_HEADER + tuple->t_len);

		row->hash = hash;
		row->next = lookup->last;
		memcpy(KEPT_TUPLE(row), tuple, tuple->t_len);
		lookup->last = row;
	}
	else
		put_in_file(lookup, hash, tuple);
	lookup->count++;
	if (shouldfree)
		pfree(tuple);
	if (lookup->files == NULL && is_over_limit(lookup))
		move_to_files(lookup);
}

/* Puts the rows into buckets, those of a bucket in the order in which they came. */
static void
fill_buckets(RowLookup *lookup)
{
	uint32 size = pg_nextpower2_32((uint32) Max(lookup->count, 16));

	lookup->mask = size - 1;
	lookup->buckets = MemoryContextAllocExtended(lookup->memory, sizeof(KeptRow *) * size,
												 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	while (lookup->last != NULL)
	{
		KeptRow *row = lookup->last;
		KeptRow **bucket = &lookup->buckets[row->hash & lookup->mask];

		lookup->last = row->next;
		row->next = *bucket;
		*bucket = row;
	}
}

/* The child's next row, kept; NULL after the last. */
static TupleTableSlot *
next_from_child(RowLookup *lookup)
{
	TupleTableSlot *row = ExecProcNode(linitial(lookup->css.custom_ps));

	if (!TupIsNull(row))
	{
		keep_row(lookup, row);
		return row;
	}
	if (lookup->files == NULL)
		fill_buckets(lookup);
	lookup->complete = true;
	return NULL;
}

/* ------------------------------------------------------------------------------------
 * Finding them.
 */

static void
decide(RowLookup *lookup)
{
	bool known = hash_of_values(lookup, &lookup->hash);

	lookup->decided = true;
	lookup->found = NULL;
	lookup->file = NULL;
	if (!known)
		return;
	if (lookup->files == NULL)
		lookup->found = lookup->buckets[lookup->hash & lookup->mask];
	else
	{
		lookup->file = file_of_hash(lookup, lookup->hash);
		tuplestore_rescan(lookup->file);
	}
}

static TupleTableSlot *
next_from_memory(RowLookup *lookup)
{
	KeptRow *row = lookup->found;

	while (row != NULL && row->hash != lookup->hash)
	{
		DEBUG_STEPS(1);
		row = row->next;
	}
	if (row == NULL)
		return NULL;
	DEBUG_STEPS(1);
	lookup->found = row->next;
	ExecStoreMinimalTuple(KEPT_TUPLE(row), lookup->kept_slot, false);
	return lookup->kept_slot;
}

static TupleTableSlot *
next_from_file(RowLookup *lookup)
{
	MemoryContext old;
	bool found;

	if (lookup->file == NULL)
		return NULL;
	DEBUG_STEPS(1);
	/* The slot owns a row that comes from a file, longer than the caller's row lives. */
	old = MemoryContextSwitchTo(lookup->css.ss.ps.state->es_query_cxt);
	found = tuplestore_gettupleslot(lookup->file, true, false, lookup->kept_slot);
	MemoryContextSwitchTo(old);
	return found ? lookup->kept_slot : NULL;
}

static TupleTableSlot *
next_row(RowLookup *lookup)
{
	lookup->started = true;
	while (lookup->repeated && !lookup->complete)
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(lookup->css.ss.ps.ps_ExprContext);
		(void) next_from_child(lookup);
	}
	if (!lookup->repeated)
		return lookup->complete ? NULL : next_from_child(lookup);
	if (!lookup->decided)
		decide(lookup);
	return lookup->files == NULL ? next_from_memory(lookup) : next_from_file(lookup);
}

/* ------------------------------------------------------------------------------------
 * The node.
 */

static TupleTableSlot *
lookup_next(ScanState *node)
{
	RowLookup *lookup = (RowLookup *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	TupleTableSlot *row = next_row(lookup);

	ExecClearTuple(slot);
	return row != NULL ? row_as_virtual(row, slot) : slot;
}

static bool
lookup_recheck(ScanState *node, TupleTableSlot *slot)
{
	elog(ERROR, "rows that are looked up are not locked");
}

static TupleTableSlot *
lookup_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, lookup_next, lookup_recheck);
}

static void
begin_keys(RowLookup *lookup, CustomScan *plan)
{
	List *columns = linitial(plan->custom_private);
	List *functions = lsecond(plan->custom_private);

	lookup->nkeys = list_length(columns);
	lookup->keys = palloc0(sizeof(LookupKey) * lookup->nkeys);
	for (int i = 0; i < lookup->nkeys; i++)
	{
		LookupKey *key = &lookup->keys[i];

		key->column = list_nth_int(columns, i);
		key->value = ExecInitExpr(list_nth(plan->custom_exprs, i), &lookup->css.ss.ps);
		fmgr_info(list_nth_oid(functions, 3 * i), &key->column_hash);
		fmgr_info(list_nth_oid(functions, 3 * i + 1), &key->value_hash);
		key->collation = list_nth_oid(functions, 3 * i + 2);
	}
}

static void
lookup_begin(CustomScanState *node, EState *estate, int eflags)
{
	RowLookup *lookup = (RowLookup *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	node->custom_ps = list_make1(ExecInitNode(linitial(plan->custom_plans), estate,
											  eflags & EXEC_FLAG_EXPLAIN_ONLY));
	begin_keys(lookup, plan);
	lookup->kept_slot = MakeSingleTupleTableSlot(
		node->ss.ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsMinimalTuple);
	lookup->memory = GenerationContextCreate(CurrentMemoryContext, "rows by hash",
											 ALLOCSET_DEFAULT_SIZES);
}

static void
forget_rows(RowLookup *lookup)
{
	ExecClearTuple(lookup->kept_slot);
	if (lookup->files != NULL)
	{
		for (int i = 0; i < FILES; i++)
			tuplestore_end(lookup->files[i]);
		pfree(lookup->files);
	}
	lookup->files = NULL;
	lookup->file = NULL;
	lookup->last = lookup->found = NULL;
	lookup->buckets = NULL;
	lookup->count = 0;
	lookup->started = lookup->repeated = lookup->complete = false;
	MemoryContextReset(lookup->memory);
}

/* The child's rows are others when a parameter of its own has changed. */
static void
lookup_rescan(CustomScanState *node)
{
	RowLookup *lookup = (RowLookup *) node;
	PlanState *child = linitial(node->custom_ps);

	ExecScanReScan(&node->ss);
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	lookup->decided = false;
	lookup->repeated |= lookup->started;
	if (child->chgParam != NULL)
	{
		forget_rows(lookup);
		ExecReScan(child);
	}
}

static void
lookup_end(CustomScanState *node)
{
	RowLookup *lookup = (RowLookup *) node;

	forget_rows(lookup);
	ExecDropSingleTupleTableSlot(lookup->kept_slot);
	MemoryContextDelete(lookup->memory);
	ExecEndNode(linitial(node->custom_ps));
}

static void
lookup_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	RowLookup *lookup = (RowLookup *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	List *names = NIL;

	for (int i = 0; i < lookup->nkeys; i++)
	{
		AttrNumber number = lookup->keys[i].column;
		TargetEntry *entry = list_nth(plan->custom_scan_tlist, number - 1);
		RangeTblEntry *rte = rt_fetch(castNode(Var, entry->expr)->varno, es->rtable);

		names = lappend(names, get_rte_attribute_name(rte, number));
	}
	ExplainPropertyList("Lookup Key", names, es);
	if (!es->analyze)
		return;
	ExplainPropertyUInteger("Rows Kept", NULL, lookup->count, es);
	if (lookup->files != NULL)
		ExplainPropertyInteger("Files", NULL, FILES, es);
	else
		ExplainPropertyUInteger("Memory Usage", "kB",
								MemoryContextMemAllocated(lookup->memory, true) / 1024,
								es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Citus Row Lookup",
	.BeginCustomScan = lookup_begin,
	.ExecCustomScan = lookup_exec,
	.EndCustomScan = lookup_end,
	.ReScanCustomScan = lookup_rescan,
	.ExplainCustomScan = lookup_explain,
};

void
row_lookup_register(void)
{
	plan_register_kind(PLAN_ROW_LOOKUP, sizeof(RowLookup), &exec_methods);
}
