/*
 * subplan.h: plans whose rows become intermediate results before a fragment's tasks run.
 */
#ifndef PANDO_EXECUTOR_SUBPLAN_H
#define PANDO_EXECUTOR_SUBPLAN_H

#include "pando/compat/compat.h"

#include "pando/executor/run.h"

/* Gives the run its plan id and the prefix of its results' names. */
extern void subplans_name(FragmentRun *run);

/* A subplan's query, started; and its end. */
extern QueryDesc *subplan_query(FragmentRun *run, const SubResult *sub,
								DestReceiver *dest, int instrument, int eflags);
extern void subplan_query_end(QueryDesc *query);

#endif
