/*
 * kept_rows.h: rows that deferred triggers are given when PostgreSQL fires them.
 */
#ifndef PANDO_EXECUTOR_KEPT_ROWS_H
#define PANDO_EXECUTOR_KEPT_ROWS_H

#include "pando/compat/compat.h"

#include "access/tableam.h"
#include "executor/tuptable.h"
#include "utils/rel.h"

/* Keeps the row until the end of the transaction; where it is says the result, which is
 * a place of no other row. */
extern ItemPointerData kept_row_put(HeapTuple tuple, TupleDesc desc);

/* An access method whose places are those of kept rows; for descriptors that nothing else
 * is read through. */
extern const TableAmRoutine *kept_rows_routine(void);

/* The shell's own descriptor finds kept rows, too, as long as the transaction may have
 * triggers of it to fire. */
extern void kept_rows_hold(Oid shell);

/* Lets go of shells that have no more triggers to fire: who is to alter one must be the
 * only user of its descriptor. */
extern void kept_rows_let_go(void);

/* Do triggers of distributed tables wait to be fired? */
extern bool kept_rows_wait(void);

extern void kept_rows_init(void);

#endif
