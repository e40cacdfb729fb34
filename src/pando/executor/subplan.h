/*
 * subplan.h: plans whose rows become intermediate results before a fragment's tasks run.
 */
#ifndef PANDO_EXECUTOR_SUBPLAN_H
#define PANDO_EXECUTOR_SUBPLAN_H

#include "pando/compat/compat.h"
#include "executor/execdesc.h"
#include "nodes/execnodes.h"

typedef struct FragmentRun FragmentRun;

/* The subplans of a run, executed. */
typedef struct SubRun
{
	int number;
	QueryDesc *query; /* kept for EXPLAIN ANALYZE; else NULL after it ran */
	double milliseconds;
	uint64 bytes;
	uint64 rows;
	int nremote;	/* nodes that it was sent to */
	bool binary;	/* exchange: the format of the values */
	List **sources; /* exchange: groups that made each part (int lists) */
} SubRun;

/* Gives the run its plan id and the prefix of its results' names. */
extern void subplans_name(FragmentRun *run);

/* A query within a statement, started with its parameters; all of it; and its end. */
extern QueryDesc *subplan_query(EState *estate, PlannedStmt *plan, DestReceiver *dest,
								int instrument, int eflags);
extern void subplan_query_run(QueryDesc *query);
extern void subplan_query_end(QueryDesc *query);

extern void subplans_run(FragmentRun *run);
extern void subplans_let_places_go(FragmentRun *run);
extern void subplans_end(FragmentRun *run);

#endif
