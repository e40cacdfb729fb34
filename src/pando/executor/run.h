/*
 * run.h: one execution of a fragment; shared by the files of the executor module only.
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
#include "utils/tuplestore.h"

#include "pando/executor/decode.h"
#include "pando/executor/run_local.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"
#include "pando/remote/session.h"

/* Values of a list of expressions, in the three forms that are needed. */
typedef struct RunValues
{
	int count;
	Oid *types;
	Datum *values;
	bool *nulls;
	const char **texts; /* NULL pointer: SQL NULL; NULL until values_texts() */
} RunValues;

typedef struct Task
{
	int number;		 /* position among the tasks, from 0 */
	int shard_index; /* shard group */
	int64 shard_id;	 /* the anchor's; 0 without anchor */
	int nplacements;
	const Placement *placements;
	int placement;		  /* the one in use (reads) */
	int tried;			  /* placements given up (reads) */
	const DistNode *node; /* of the present placement */
	bool local;

	/* SHARDS_BY_ROW */
	List *rows;		   /* RunValues * */
	List *row_numbers; /* int list: their positions in the statement */

	/* What came of it. */
	uint64 processed;
	bool counted;	/* processed stands: its first placement is done */
	List *returned; /* MinimalTuple, where the order matters */

	/* EXPLAIN ANALYZE */
	uint64 bytes;
	double milliseconds;
	char *plan; /* the node's own plan, in the format asked for; NULL: none */
} Task;

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

/* Rows that could not be handed up at once, in their order. */
typedef struct Spill
{
	Tuplestorestate *store;
	TupleTableSlot *slot;
	int64 put;
	int64 taken;
} Spill;

typedef struct Flight Flight;
typedef struct Fan Fan;
typedef struct Merge Merge;

typedef struct FragmentRun
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
	List *local_tasks; /* to be run */
	LocalQuery *local; /* being read */
	Task *local_task;
	Spill spill;
	Merge *merge; /* the flights' rows come sorted, and are merged (order.c) */
	Tuplesortstate *sort;
	MemoryContext row_context; /* run_row_context()'s; NULL until first needed */
	uint64 processed;
	uint64 bytes;
} FragmentRun;

/* A flight to one node: the statements under way over its session. */
struct Flight
{
	SessionHolder holder; /* first; holder.session is NULL when the flight is over */
	FragmentRun *run;
	const DistNode *node;
	Session *session;
	List *tasks;
	List *steps; /* Step *, one per statement sent */
	int step;
	bool write;
	bool connecting;  /* nothing has come from the node yet */
	PGresult *result; /* rows being handed out */
	int row;
	bool header;  /* the next COPY row starts with the header */
	Spill *spill; /* the run's, or its own where rows are merged */
	Fan *fan;	  /* NULL: these are all tasks of the node */
	instr_time sent;
};

/* run.c */
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
extern void spill_put(FragmentRun *run, Spill *spill, Datum *values, bool *nulls);
extern bool spill_next(FragmentRun *run, Spill *spill, Datum *values, bool *nulls);
extern TupleTableSlot *spill_slot(FragmentRun *run, Spill *spill);
extern void spill_end(Spill *spill);
extern void slot_values(TupleTableSlot *slot, int ncolumns, Datum *values, bool *nulls);

/* order.c */
extern void order_choose(FragmentRun *run);
extern Spill *order_spill(FragmentRun *run, Flight *flight);
extern void order_start(FragmentRun *run);
extern bool order_next(FragmentRun *run, Datum *values, bool *nulls);
extern void order_end(FragmentRun *run);

/* The row as one of a virtual slot; good until the row's own slot is used again. */
extern TupleTableSlot *row_as_virtual(TupleTableSlot *row, TupleTableSlot *slot);

/* task.c */
/* Tasks in one statement: the core's analysis of a UNION goes as deep as it has parts. */
#define MAX_UNION 500
extern void run_prepare_tasks(FragmentRun *run);
extern Datum run_value(FragmentRun *run, Expr *expr, bool *isnull);
extern const char *value_literal(const RunValues *values, int i);
extern void values_texts(RunValues *values);
extern void values_bind(RunValues *values, const char **bound, int *lengths);
/* Bytes of values from which on they are parameters wherever they can be, and from which
 * on a node's writes go one by one for that. */
#define BULKY (4 * 1024 * 1024)
#define BULKY_WRITE (64 * 1024 * 1024)
extern bool values_are_bulky(RunValues *values, Size limit);
extern bool task_is_bulky(const FragmentRun *run, const Task *task, Size limit);
extern char *task_text(FragmentRun *run, Task *task, bool inline_values);
extern List *tasks_of_node(List *tasks, const DistNode *node, List **rest);
extern List *tasks_as_unions(FragmentRun *run, List *tasks, bool inline_values);
extern void tasks_leave_out_lost(FragmentRun *run);
extern bool task_next_placement(FragmentRun *run, Task *task);
extern Task *task_create(FragmentRun *run, int shard_index);

/* insert_rows.c */
extern void insert_rows_tasks(FragmentRun *run);
extern char *insert_rows_text(FragmentRun *run, Task *task, bool inline_values);

/* run_remote.c */
extern Flight *flight_start(FragmentRun *run, const DistNode *node, List *tasks,
							bool write);
extern bool flight_next(Flight *flight, Datum *values, bool *nulls, Task **task);
extern bool flight_is_over(const Flight *flight);
extern void flight_send(Flight *flight, const char *ahead);
extern Flight *flight_create(FragmentRun *run, const DistNode *node, Session *session);
extern void flight_ended(Flight *flight);
extern void flight_stop(Flight *flight, bool may_cancel);
extern void flights_wait(FragmentRun *run);
extern void flights_connect(FragmentRun *run);
extern void flights_forget(void *run);
extern void reads_assign(FragmentRun *run, List *tasks);
extern void task_avoid_lost_node(FragmentRun *run, Task *task);

/* fan.c */
extern bool fan_start(FragmentRun *run, const DistNode *node, List *tasks);
extern bool fan_next_tasks(Flight *flight);
extern void fan_take_snapshot(Flight *flight, const char *snapshot);
extern bool fan_flight_lost(Flight *flight);
extern long fans_timeout(FragmentRun *run);
extern void fans_waited(FragmentRun *run, double milliseconds);

/* write.c */
extern void write_run(FragmentRun *run);
extern void task_count(FragmentRun *run, Task *task, uint64 processed);

/* local_task.c */
extern int local_tasks_together(FragmentRun *run);
extern LocalQuery *tasks_open_local(FragmentRun *run, List *tasks);
extern LocalQuery *task_open_local(FragmentRun *run, Task *task, bool write);
extern void task_close_local(FragmentRun *run, Task *task, LocalQuery *query);

/* subplan.c */
extern void subplans_run(FragmentRun *run);
extern void subplans_let_places_go(FragmentRun *run);
extern void subplans_end(FragmentRun *run);

/* settings, init.c */
typedef enum AssignmentPolicy
{
	ASSIGN_GREEDY,
	ASSIGN_ROUND_ROBIN,
	ASSIGN_FIRST_REPLICA
} AssignmentPolicy;
typedef enum ExplainSort
{
	EXPLAIN_SORT_TIME,
	EXPLAIN_SORT_TASK
} ExplainSort;
extern int executor_assignment_policy;
extern bool executor_binary_protocol;
extern bool executor_explain_all_tasks;
extern int executor_explain_sort;
extern int executor_max_result_size; /* kB; -1: no limit */
extern bool executor_sequential_writes;
extern bool executor_sort_returning;
extern int executor_slow_start_ms;
extern int executor_pool_size;
extern bool executor_force_spread;

#endif
