/*
 * run.c: a fragment's execution from start to end, and the order in which its rows come.
 */
#include "pando/compat/compat.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/typcache.h"

#include "pando/base/counter.h"
#include "pando/executor/flight.h"
#include "pando/executor/local_task.h"
#include "pando/executor/lost_copy.h"
#include "pando/executor/order.h"
#include "pando/executor/run.h"
#include "pando/executor/settings.h"
#include "pando/executor/subplan.h"
#include "pando/executor/write.h"
#include "pando/transaction/xact.h"

/* Descriptor of the rows that come out; NULL when none do. */
static TupleDesc
output_desc(const Fragment *fragment, PlanState *planstate)
{
	TupleDesc desc;
	int i = 0;

	if (fragment->command != CMD_SELECT && fragment->column_types == NIL)
		return NULL;
	/* The scan has made one already. */
	desc = ((ScanState *) planstate)->ss_ScanTupleSlot->tts_tupleDescriptor;
	if (desc->natts == list_length(fragment->column_types))
		return desc;
	desc = CreateTemplateTupleDesc(list_length(fragment->column_types));
	foreach_oid(type, fragment->column_types)
	{
		TupleDescInitEntry(desc, i + 1, strVal(list_nth(fragment->column_names, i)), type,
						   list_nth_int(fragment->column_typmods, i), 0);
		TupleDescInitEntryCollation(desc, i + 1,
									list_nth_oid(fragment->column_collations, i));
		i++;
	}
	return desc;
}

/* `whole`: the fragment is all of the statement. */
FragmentRun *
run_create(PlanState *planstate, Fragment *fragment, bool whole,
		   const RunExplain *explain)
{
	EState *estate = planstate->state;
	MemoryContext context = AllocSetContextCreate(estate->es_query_cxt, "pando fragment",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	FragmentRun *run = palloc0(sizeof(FragmentRun));

	run->context = context;
	run->on_reset.func = flights_forget;
	run->on_reset.arg = run;
	MemoryContextRegisterResetCallback(context, &run->on_reset);
	run->owner = CurrentResourceOwner;
	run->fragment = fragment;
	run->estate = estate;
	run->planstate = planstate;
	run->whole = whole;
	run->explain_only = (estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0;
	if (explain)
		run->explain = *explain;
	run->desc = output_desc(fragment, planstate);
	run->binary =
		executor_binary_protocol && run->desc != NULL && columns_travel_binary(run->desc);
	MemoryContextSwitchTo(old);
	return run;
}

/* A context for one row at a time. */
MemoryContext
run_row_context(FragmentRun *run)
{
	if (run->row_context == NULL)
		run->row_context = AllocSetContextCreate(run->context, "pando fragment row",
												 ALLOCSET_DEFAULT_SIZES);
	return run->row_context;
}

/* ------------------------------------------------------------------------------------
 * Local tasks.
 */

typedef struct SpillDest
{
	DestReceiver pub;
	FragmentRun *run;
} SpillDest;

static bool
spill_receive(TupleTableSlot *slot, DestReceiver *self)
{
	FragmentRun *run = ((SpillDest *) self)->run;

	slot_getallattrs(slot);
	spill_put(run, &run->spill, slot->tts_values, slot->tts_isnull);
	return true;
}

static void
count_local_bytes(FragmentRun *run, Task *task, TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	task->bytes += heap_compute_data_size(run->desc, slot->tts_values, slot->tts_isnull);
}

static void
end_local(FragmentRun *run)
{
	LocalQuery *query = run->local;

	run->local = NULL;
	if (query != NULL)
		task_close_local(run, run->local_task, query);
}

static void
start_local(FragmentRun *run)
{
	SpillDest dest = {*None_Receiver, run};
	int count = local_tasks_together(run);
	List *tasks = tasks_take(&run->local_tasks, count);

	run->local_task = linitial(tasks);
	run->local = count > 1 ? tasks_open_local(run, tasks)
						   : task_open_local(run, run->local_task, false);
	list_free(tasks);
	dest.pub.receiveSlot = spill_receive;
	if (local_must_run_whole(run->local))
	{
		local_run(run->local, &dest.pub);
		end_local(run);
	}
}

bool
run_next_local(FragmentRun *run, Datum *values, bool *nulls)
{
	for (;;)
	{
		TupleTableSlot *slot;

		if (run->local == NULL)
		{
			if (tasks_waiting(&run->local_tasks) == 0)
				return false;
			start_local(run);
			if (spill_next(run, &run->spill, values, nulls))
				return true;
			continue;
		}
		slot = local_next(run->local);
		if (slot != NULL)
		{
			if (run->explain.analyze)
				count_local_bytes(run, run->local_task, slot);
			slot_values(slot, run->desc->natts, values, nulls);
			return true;
		}
		end_local(run);
	}
}

/* ------------------------------------------------------------------------------------
 * Flights.
 */

static bool
next_from_flights(FragmentRun *run, Datum *values, bool *nulls)
{
	while (run->flights != NIL)
	{
		Task *task;
		bool over = false;
		List *flights;

		if (run->current != NULL && flight_next(run->current, values, nulls, &task))
			return true;
		run->current = NULL;
		flights = list_copy(run->flights);
		foreach_ptr (Flight, flight, flights)
		{
			if (flight_next(flight, values, nulls, &task))
			{
				run->current = flight;
				list_free(flights);
				return true;
			}
			over |= flight_is_over(flight);
		}
		list_free(flights);
		/* A failover may have given us local tasks, or drained a flight. */
		if (tasks_waiting(&run->local_tasks) > 0 || run->spill.taken < run->spill.put)
			return false;
		if (!over)
			flights_wait(run);
	}
	return false;
}

bool
run_next_unordered(FragmentRun *run, Datum *values, bool *nulls)
{
	do
	{
		if (spill_next(run, &run->spill, values, nulls) ||
			run_next_local(run, values, nulls) || next_from_flights(run, values, nulls))
			return true;
	} while (tasks_waiting(&run->local_tasks) > 0 || run->flights != NIL ||
			 run->spill.taken < run->spill.put);
	return false;
}

/* ------------------------------------------------------------------------------------
 * From start to end.
 */

/* Makes the tasks, and what they will read. */
void
run_prepare(FragmentRun *run)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);

	run_prepare_tasks(run);
	if (run->anchor != NULL)
	{
		lost_copies_known(run->anchor);
		if (run->fragment->command != CMD_SELECT)
			tasks_leave_out_lost(run);
	}
	if (run->fragment->subplans != NIL)
		subplans_run(run);
	MemoryContextSwitchTo(old);
}

/* Starts what is prepared; a write is done when this returns. */
void
run_launch(FragmentRun *run)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);

	counter_add(list_length(run->tasks) > 1 ? COUNTER_QUERY_MULTI : COUNTER_QUERY_SINGLE);
	if (run->desc != NULL)
		run->decoder = decoder_create(run->desc, run->binary, false);
	order_choose(run);
	if (run->fragment->command == CMD_SELECT)
		reads_assign(run, run->tasks);
	else
	{
		write_run(run);
		subplans_let_places_go(run);
	}
	order_start(run);
	MemoryContextSwitchTo(old);
}

/* Does everything up to the first row. */
void
run_start(FragmentRun *run)
{
	run_prepare(run);
	run_launch(run);
}

/* The next row; values are in the current memory context or stay until the next call. */
bool
run_next(FragmentRun *run, Datum *values, bool *nulls)
{
	if (run->desc == NULL)
		return false;
	return order_next(run, values, nulls);
}

/*
 * Frees everything; sessions are usable for others afterwards. may_cancel: the
 * transaction ends with the statement, so that nodes may roll back what they only read.
 */
void
run_end(FragmentRun *run, bool may_cancel)
{
	List *flights = list_copy(run->flights);

	foreach_ptr (Flight, flight, flights)
		flight_stop(flight, may_cancel);
	if (run->local != NULL)
	{
		local_close(run->local);
		run->local = NULL;
	}
	subplans_end(run);
	order_end(run);
	spill_end(&run->spill);
	MemoryContextDelete(run->context);
}
