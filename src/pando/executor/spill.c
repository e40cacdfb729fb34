/*
 * spill.c: rows of a run that could not be handed up at once, in their order.
 *
 * They are in a tuplestore, in memory up to work_mem, that belongs to the run.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"

#include "pando/executor/run.h"
#include "pando/executor/spill.h"

static Tuplestorestate *
make_store(FragmentRun *run)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);
	ResourceOwner owner = CurrentResourceOwner;
	Tuplestorestate *store;

	/* A statement nested in a subtransaction may be the one that makes us spill. */
	CurrentResourceOwner = run->owner;
	store = tuplestore_begin_heap(false, false, work_mem);
	CurrentResourceOwner = owner;
	MemoryContextSwitchTo(old);
	return store;
}

/* Keeps a row for later. */
void
spill_put(FragmentRun *run, Spill *spill, Datum *values, bool *nulls)
{
	if (spill->store == NULL)
		spill->store = make_store(run);
	tuplestore_putvalues(spill->store, run->desc, values, nulls);
	spill->put++;
}

/* Hands out the values of a slot; they stay valid until the slot is used again. */
void
slot_values(TupleTableSlot *slot, int ncolumns, Datum *values, bool *nulls)
{
	slot_getallattrs(slot);
	memcpy(values, slot->tts_values, sizeof(Datum) * ncolumns);
	memcpy(nulls, slot->tts_isnull, sizeof(bool) * ncolumns);
}

TupleTableSlot *
row_as_virtual(TupleTableSlot *row, TupleTableSlot *slot)
{
	slot_values(row, slot->tts_tupleDescriptor->natts, slot->tts_values,
				slot->tts_isnull);
	return ExecStoreVirtualTuple(slot);
}

TupleTableSlot *
row_projected(CustomScanState *node, TupleTableSlot *row)
{
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	if (TupIsNull(row) || projection == NULL)
		return row;
	node->ss.ps.ps_ExprContext->ecxt_scantuple = row;
	return ExecProject(projection);
}

TupleTableSlot *
spill_slot(FragmentRun *run, Spill *spill)
{
	if (spill->slot == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(run->context);

		spill->slot = MakeTupleTableSlot(run->desc, &TTSOpsMinimalTuple);
		MemoryContextSwitchTo(old);
	}
	return spill->slot;
}

/* Reading never goes past what was put in: the read position could not go on then. */
bool
spill_next(FragmentRun *run, Spill *spill, Datum *values, bool *nulls)
{
	TupleTableSlot *slot;
	MemoryContext old;

	if (spill->taken == spill->put)
		return false;
	slot = spill_slot(run, spill);
	/* The slot owns a row that comes from a file, longer than the caller's row lives. */
	old = MemoryContextSwitchTo(run->context);
	if (!tuplestore_gettupleslot(spill->store, true, false, slot))
		elog(ERROR, "rows of a fragment are missing");
	MemoryContextSwitchTo(old);
	spill->taken++;
	slot_values(slot, run->desc->natts, values, nulls);
	return true;
}

void
spill_end(Spill *spill)
{
	if (spill->store != NULL)
		tuplestore_end(spill->store);
	spill->store = NULL;
}
