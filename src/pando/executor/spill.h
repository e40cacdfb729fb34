/*
 * spill.h: rows of a run that could not be handed up at once.
 */
#ifndef PANDO_EXECUTOR_SPILL_H
#define PANDO_EXECUTOR_SPILL_H

#include "pando/compat/compat.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "utils/tuplestore.h"

typedef struct FragmentRun FragmentRun;

/* Rows that could not be handed up at once, in their order. */
typedef struct Spill
{
	Tuplestorestate *store;
	TupleTableSlot *slot;
	int64 put;
	int64 taken;
} Spill;

extern void spill_put(FragmentRun *run, Spill *spill, Datum *values, bool *nulls);
extern bool spill_next(FragmentRun *run, Spill *spill, Datum *values, bool *nulls);
extern TupleTableSlot *spill_slot(FragmentRun *run, Spill *spill);
extern void spill_end(Spill *spill);
extern void slot_values(TupleTableSlot *slot, int ncolumns, Datum *values, bool *nulls);

/* The row as one of a virtual slot; good until the row's own slot is used again. */
extern TupleTableSlot *row_as_virtual(TupleTableSlot *row, TupleTableSlot *slot);

/* The row with the columns that the node gives, good until its expressions are reset. */
extern TupleTableSlot *row_projected(CustomScanState *node, TupleTableSlot *row);

#endif
