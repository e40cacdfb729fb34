/*
 * run_local.h: SQL on this node's own shards, inside the backend.
 *
 * A LocalQuery is one statement from open to close. Its plan comes from a cache of the
 * backend, so that a statement which runs again with other values is not planned again.
 */
#ifndef PANDO_EXECUTOR_RUN_LOCAL_H
#define PANDO_EXECUTOR_RUN_LOCAL_H

#include "pando/compat/compat.h"
#include "executor/execdesc.h"
#include "nodes/params.h"
#include "tcop/dest.h"
#include "portability/instr_time.h"

typedef struct LocalQuery LocalQuery;

/*
 * Parses, plans and starts a statement. `types` of $1..; `write`: it changes data, and
 * sees what was changed before in this transaction. `instrument` as in CreateQueryDesc.
 * The client's rights were checked on the shell tables. Lives in the current memory
 * context and resource owner.
 */
extern LocalQuery *local_open(const char *sql, int nparams, const Oid *types,
							  ParamListInfo params, bool write, int instrument,
							  List *roles);

/* Does it have to run to its end in one go (parallel plan)? Then local_next() can't be
 * used. */
extern bool local_must_run_whole(const LocalQuery *query);

/* The next row, NULL at the end. */
extern TupleTableSlot *local_next(LocalQuery *query);

/* All rows go to dest (may be NULL: thrown away). */
extern void local_run(LocalQuery *query, DestReceiver *dest);

/* After the rows are read: triggers. The numbers below are right from here on. */
extern void local_finish(LocalQuery *query);
extern uint64 local_processed(const LocalQuery *query);
extern QueryDesc *local_query_desc(const LocalQuery *query);
extern double local_planning_ms(const LocalQuery *query);
extern double local_execution_ms(const LocalQuery *query);

/* The end; what was written becomes visible to the transaction's later statements. */
extern void local_close(LocalQuery *query);

/* Milliseconds since then. */
extern double elapsed_ms(instr_time start);

#endif
