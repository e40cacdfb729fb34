/*
 * task.h: one statement for one shard group, and the values it carries.
 */
#ifndef PANDO_EXECUTOR_TASK_H
#define PANDO_EXECUTOR_TASK_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

typedef struct FragmentRun FragmentRun;

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

/* Tasks that wait, taken from the front. */
typedef struct TaskQueue
{
	List *tasks;
	int taken;
} TaskQueue;

static inline int
tasks_waiting(const TaskQueue *queue)
{
	return list_length(queue->tasks) - queue->taken;
}

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
extern List *tasks_by_node(List *tasks);
extern void tasks_put(TaskQueue *queue, List *tasks);
extern List *tasks_take(TaskQueue *queue, int count);
extern List *tasks_as_unions(FragmentRun *run, List *tasks, bool inline_values);
extern void tasks_leave_out_lost(FragmentRun *run);
extern bool task_next_placement(FragmentRun *run, Task *task);
extern Task *task_create(FragmentRun *run, int shard_index);

/* A copy of the task's shard has been changed in so many rows; all copies must agree. */
extern void task_count(FragmentRun *run, Task *task, uint64 processed);

#endif
