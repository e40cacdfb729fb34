/*
 * write.c: writes run to their end before anything is returned.
 *
 * Each shard's first placement is written first (of a reference table that of the lowest
 * group: writers of one row queue up there instead of deadlocking), then the other
 * copies, all nodes at once. The first placement's rows and count are the statement's;
 * the others must agree on the count.
 */
#include "pando/compat/compat.h"

#include "utils/memutils.h"

#include "pando/base/int_map.h"
#include "pando/executor/flight.h"
#include "pando/executor/local_task.h"
#include "pando/executor/run.h"
#include "pando/executor/settings.h"
#include "pando/executor/write.h"
#include "pando/transaction/xact.h"

/* A task on one of its placements. */
typedef struct Copy
{
	Task *task;
	const DistNode *node;
	bool local;
} Copy;

/* Tasks that go to a node in one flight. */
typedef struct Batch
{
	const DistNode *node;
	List *tasks;
} Batch;

/* Must the rows of RETURNING be put back into the order of the VALUES list? */
static bool
keeps_order(const FragmentRun *run)
{
	return run->fragment->insert_columns != NIL && list_length(run->tasks) > 1 &&
		   run->desc != NULL;
}

/* A row of RETURNING. */
static void
take_returned(FragmentRun *run, Task *task, Datum *values, bool *nulls)
{
	if (keeps_order(run))
	{
		MemoryContext old = MemoryContextSwitchTo(run->context);

		task->returned =
			lappend(task->returned, heap_form_minimal_tuple(run->desc, values, nulls));
		MemoryContextSwitchTo(old);
	}
	else
		spill_put(run, &run->spill, values, nulls);
}

/* ------------------------------------------------------------------------------------
 * The local copy.
 */

typedef struct ReturningDest
{
	DestReceiver pub;
	FragmentRun *run;
	Task *task;
} ReturningDest;

static bool
returning_receive(TupleTableSlot *slot, DestReceiver *self)
{
	ReturningDest *dest = (ReturningDest *) self;

	slot_getallattrs(slot);
	take_returned(dest->run, dest->task, slot->tts_values, slot->tts_isnull);
	return true;
}

static void
returning_startup(DestReceiver *self, int operation, TupleDesc desc)
{
}

static void
returning_nothing(DestReceiver *self)
{
}

static void
write_locally(FragmentRun *run, Task *task)
{
	ReturningDest dest = {{returning_receive, returning_startup, returning_nothing,
						   returning_nothing, DestNone},
						  run,
						  task};
	bool rows_wanted = run->desc != NULL && !task->counted;
	LocalQuery *query = task_open_local(run, task, true);

	local_run(query, rows_wanted ? &dest.pub : None_Receiver);
	task_close_local(run, task, query);
}

/* ------------------------------------------------------------------------------------
 * Rounds.
 */

/* Takes in what the flights bring until they are over. */
static void
finish_flights(FragmentRun *run)
{
	int ncolumns = run->desc ? run->desc->natts : 0;
	Datum *values = palloc(sizeof(Datum) * (ncolumns + 1));
	bool *nulls = palloc(sizeof(bool) * (ncolumns + 1));

	while (run->flights != NIL)
	{
		bool progress = false;
		List *flights = list_copy(run->flights);

		foreach_ptr (Flight, flight, flights)
		{
			Task *task;
			MemoryContext old = MemoryContextSwitchTo(run_row_context(run));

			while (flight_next(flight, values, nulls, &task))
			{
				if (!task->counted)
					take_returned(run, task, values, nulls);
				MemoryContextReset(run->row_context);
			}
			progress |= flight_is_over(flight);
			MemoryContextSwitchTo(old);
		}
		list_free(flights);
		if (!progress)
			flights_wait(run);
	}
	pfree(values);
	pfree(nulls);
}

/* Does each of a node's tasks go by itself, with its long values as parameters? */
static bool
one_by_one(FragmentRun *run)
{
	if (values_are_bulky(&run->params, BULKY_WRITE))
		return true;
	foreach_ptr (Task, task, run->tasks)
	{
		if (task_is_bulky(run, task, BULKY_WRITE))
			return true;
	}
	return false;
}

/*
 * What goes to each other node together, or each task by itself; *local: the tasks of
 * this node. Raises an error if not all of the nodes can be connected to.
 */
static List *
batches_of_nodes(List *copies, bool alone, List **local)
{
	List *batches = NIL;
	List *nodes = NIL;
	IntMap *by_group = int_map_create();

	foreach_ptr (Copy, copy, copies)
	{
		Batch **batch = (Batch **) int_map_at(by_group, copy->node->group);

		if (copy->local)
		{
			*local = lappend(*local, copy->task);
			continue;
		}
		if (*batch == NULL || alone)
		{
			*batch = palloc0(sizeof(Batch));
			(*batch)->node = copy->node;
			batches = lappend(batches, *batch);
			nodes = lappend(nodes, unconstify(DistNode *, copy->node));
		}
		(*batch)->tasks = lappend((*batch)->tasks, copy->task);
	}
	xact_require_sessions(nodes);
	list_free(nodes);
	return batches;
}

static void
run_round(FragmentRun *run, List *copies)
{
	bool alone = list_length(copies) > 1 && one_by_one(run);
	List *local = NIL;

	foreach_ptr (Batch, batch, batches_of_nodes(copies, alone, &local))
	{
		(void) flight_start(run, batch->node, batch->tasks, true);
		if (executor_sequential_writes || alone)
			finish_flights(run);
	}
	flights_connect(run);
	foreach_ptr (Task, task, local)
		write_locally(run, task);
	finish_flights(run);
}

static int
compare_placements(const void *a, const void *b)
{
	const Placement *x = a;
	const Placement *y = b;

	return (x->group > y->group) - (x->group < y->group);
}

static Copy *
make_copy(Task *task, int32 group)
{
	Copy *copy = palloc(sizeof(Copy));

	copy->task = task;
	copy->node = node_by_group(group);
	copy->local = group == node_local_group();
	return copy;
}

/* Rows of RETURNING in the order of the VALUES list, if each row has given one. */
static void
spill_returned(FragmentRun *run)
{
	int total = 0;
	bool all = true;
	MinimalTuple *tuples;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(run->desc, &TTSOpsMinimalTuple);

	foreach_ptr (Task, task, run->tasks)
	{
		total += list_length(task->returned);
		all &= list_length(task->returned) == list_length(task->row_numbers);
	}
	tuples = palloc(sizeof(MinimalTuple) * (total + 1));
	total = 0;
	foreach_ptr (Task, task, run->tasks)
	{
		int i = 0;

		foreach_ptr (MinimalTupleData, tuple, task->returned)
		{
			int position = all ? list_nth_int(task->row_numbers, i) : total;

			tuples[position] = tuple;
			total++;
			i++;
		}
	}
	for (int i = 0; i < total; i++)
	{
		ExecStoreMinimalTuple(tuples[i], slot, false);
		slot_getallattrs(slot);
		spill_put(run, &run->spill, slot->tts_values, slot->tts_isnull);
	}
	ExecDropSingleTupleTableSlot(slot);
	pfree(tuples);
}

/* Runs all tasks on all placements; what is returned stands in the spill. */
void
write_run(FragmentRun *run)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);
	List *first = NIL;
	List *rest = NIL;

	foreach_ptr (Task, task, run->tasks)
	{
		Placement *placements = palloc(sizeof(Placement) * (task->nplacements + 1));

		memcpy(placements, task->placements, sizeof(Placement) * task->nplacements);
		qsort(placements, task->nplacements, sizeof(Placement), compare_placements);
		for (int i = 0; i < task->nplacements; i++)
		{
			Copy *copy = make_copy(task, placements[i].group);

			if (i == 0)
				first = lappend(first, copy);
			else
				rest = lappend(rest, copy);
		}
	}
	run_round(run, first);
	run_round(run, rest);

	foreach_ptr (Task, task, run->tasks)
		run->processed += task->processed;
	if (keeps_order(run))
		spill_returned(run);
	MemoryContextSwitchTo(old);
}
