/*
 * subplan.h: plans whose rows become intermediate results before a fragment's tasks run.
 */
#ifndef PANDO_EXECUTOR_SUBPLAN_H
#define PANDO_EXECUTOR_SUBPLAN_H

#include "pando/compat/compat.h"

#include "pando/executor/run.h"

extern void subplan_init(void);

/* Gives the run its plan id and the prefix of its results' names. */
extern void subplans_name(FragmentRun *run);

/* A query within a statement, started with its parameters; all of it; and its end. */
extern QueryDesc *subplan_query(EState *estate, PlannedStmt *plan, DestReceiver *dest,
								int instrument, int eflags);
extern void subplan_query_run(QueryDesc *query);
extern void subplan_query_end(QueryDesc *query);

#endif
