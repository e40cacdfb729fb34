/*
 * run.h: one execution of a fragment, from start to end.
 *
 * A FragmentRun computes the fragment's values, makes its tasks and brings their rows.
 * All it owns lives in run->context. Rows come from three places, in this order: `spill`
 * (rows of sessions that another statement needed, and what a write returned), the local
 * tasks, the flights to other nodes. One flight per session is under way at a time; it is
 * the session's holder (remote/session.h) until it is over. A node has one flight, over
 * its owner session, unless its tasks fan out (fan.c).
 */
#ifndef PANDO_EXECUTOR_RUN_H
#define PANDO_EXECUTOR_RUN_H

#include "pando/compat/compat.h"
#include "nodes/execnodes.h"
#include "utils/resowner.h"
#include "utils/tuplesort.h"

#include "pando/executor/decode.h"
#include "pando/executor/run_local.h"
#include "pando/executor/spill.h"
#include "pando/executor/task.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"

typedef struct RunExplain
{
	bool analyze; /* tasks are to keep their plans */
	bool timing;
	bool buffers;
	bool wal;
	bool costs;
	bool verbose;
	bool settings;
	bool summary;
	int format; /* ExplainFormat */
} RunExplain;

typedef struct FragmentRun FragmentRun;
typedef struct Flight Flight;
typedef struct Fan Fan;
typedef struct Merge Merge;

struct FragmentRun
{
	MemoryContext context;
	MemoryContextCallback on_reset; /* lets go of sessions when an error frees the run */
	ResourceOwner owner;			/* what tuplestores and local plans belong to */
	Fragment *fragment;
	EState *estate;
	PlanState *planstate;
	bool whole;				 /* the fragment is the whole statement */
	bool explain_only;		 /* nothing is to be executed */
	bool sends;				 /* the tasks send their rows to other nodes */
	const DistTable *anchor; /* NULL: none */
	RunExplain explain;

	RunValues params;
	uint32 plan_id;
	List *places_kept; /* DistNode *; see subplan.c */
	char *result_prefix;
	List *subruns;
	List *tasks;

	/* Output. */
	TupleDesc desc; /* NULL when nothing comes out */
	bool binary;
	RowDecoder *decoder;
	List *flights; /* those under way */
	List *fans;	   /* nodes with tasks that wait for a session */
	Flight *current;
	TaskQueue local_tasks; /* to be run */
	LocalQuery *local;	   /* being read */
	Task *local_task;
	Spill spill;
	Merge *merge; /* the flights' rows come sorted, and are merged (order.c) */
	Tuplesortstate *sort;
	MemoryContext row_context; /* run_row_context()'s; NULL until first needed */
	uint64 processed;
	uint64 bytes;
};

extern FragmentRun *run_create(PlanState *planstate, Fragment *fragment, bool whole,
							   const RunExplain *explain);
extern void run_prepare(FragmentRun *run);
extern void run_launch(FragmentRun *run);
extern void run_start(FragmentRun *run);
extern bool run_next(FragmentRun *run, Datum *values, bool *nulls);
extern void run_end(FragmentRun *run, bool may_cancel);
extern MemoryContext run_row_context(FragmentRun *run);
extern bool run_next_local(FragmentRun *run, Datum *values, bool *nulls);
extern bool run_next_unordered(FragmentRun *run, Datum *values, bool *nulls);

#endif
