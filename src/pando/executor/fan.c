/*
 * fan.c: the tasks of one node, read over several sessions.
 *
 * As a rule a node gets all its tasks as one statement, which PostgreSQL spreads over its
 * cores. A *fan* is for what PostgreSQL can't spread, or can't tell the cost of
 * (FragmentSpread): the tasks wait here, and each session of the fan takes some when it
 * has done with those before. All sessions read as of one snapshot, the owner session's,
 * which the fan's first flight exports: it has no tasks, for a node sends nothing of a
 * flight with several statements before it has done with the last one.
 *
 * Slow start: there is one session until the backend has waited for
 * citus.executor_slow_start_interval and what is left to do, at the speed seen so far, is
 * worth a connection; then there is one more, and so on. Time in which the backend was
 * busy with rows does not count: more sessions would not bring them sooner. Sessions
 * beyond the first are a matter of speed only: without a place for them, or without a
 * connection, their tasks go to the others.
 *
 * A session takes so many tasks at a time that they last for about CHUNK_MS.
 */
#include "pando/compat/compat.h"

#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "pando/executor/fan.h"
#include "pando/executor/run.h"
#include "pando/executor/settings.h"
#include "pando/transaction/xact.h"

/* Planner's cost of a node's tasks from which on they are worth several sessions. */
#define SPREAD_COST_MIN 20000.0

/* A new session for less work than this comes too late. */
#define SESSION_WORTH_MS 50.0

/* The first task of a connection may wait for that long on cold caches. */
#define COLD_MS 30.0

#define CHUNK_MS 20.0
#define MAX_CHUNK 100

struct Fan
{
	FragmentRun *run;
	const DistNode *node;
	TaskQueue waiting; /* tasks that no session has taken */
	List *flights;	   /* those under way */
	char *snapshot;
	int limit;	   /* of sessions */
	bool closed;   /* no more sessions can be had */
	double waited; /* ms, since the last session was added */
	double waited_in_all;
	int done;			 /* tasks */
	double milliseconds; /* spent on them, by all sessions together */
};

static bool
is_worth_it(const FragmentRun *run, int ntasks)
{
	const Fragment *fragment = run->fragment;

	if (fragment->locks || fragment->first_copy || fragment->restart != 0 ||
		fragment->template->roles != NIL)
		return false;
	switch (fragment->spread)
	{
		case SPREAD_NEVER:
			return false;
		case SPREAD_NOTHING:
			return executor_force_spread;
		case SPREAD_COST:
			return executor_force_spread ||
				   fragment->cost * ntasks / list_length(run->tasks) > SPREAD_COST_MIN;
		case SPREAD_UNKNOWN:
			return true;
	}
	return false;
}

/* Takes tasks that wait off the list, for the flight. */
static void
take_tasks(Fan *fan, Flight *flight)
{
	int left = tasks_waiting(&fan->waiting);
	int nsessions = Max(list_length(fan->flights), 1);
	int count = 1;

	if (executor_force_spread)
		count = left / Min(fan->limit, left);
	else if (fan->done > 0)
		count = CHUNK_MS * fan->done / Max(fan->milliseconds, 0.01);
	/* The last ones are dealt out evenly. */
	count = Max(Min(Min(count, MAX_CHUNK), (left + nsessions - 1) / nsessions), 1);
	list_free(flight->tasks);
	flight->tasks = tasks_take(&fan->waiting, count);
}

/*
 * Starts to read the node's tasks in a fan; false, with nothing done, if they had better
 * go as one statement. In the run's context.
 */
bool
fan_start(FragmentRun *run, const DistNode *node, List *tasks)
{
	int ntasks = list_length(tasks);
	Flight *flight;
	Fan *fan;

	/*
	 * While this backend reads its own shards it doesn't look after sessions, which must
	 * have all their tasks then.
	 */
	if (ntasks < 2 || executor_pool_size < 2 || run->explain.analyze ||
		tasks_waiting(&run->local_tasks) > 0 || run->merge != NULL ||
		!is_worth_it(run, ntasks) || values_are_bulky(&run->params, BULKY) ||
		!xact_may_spread(node))
		return false;
	fan = palloc0(sizeof(Fan));
	fan->run = run;
	fan->node = node;
	tasks_put(&fan->waiting, tasks);
	fan->limit = Min(executor_pool_size, ntasks);
	run->fans = lappend(run->fans, fan);
	flight = flight_create(run, node, xact_session(node, XACT_ONLY_READ));
	flight->fan = fan;
	fan->flights = list_make1(flight);
	flight_send(flight, "SELECT pg_catalog.pg_export_snapshot();");
	return true;
}

/* The first flight's result. The time it took to connect says nothing of tasks. */
void
fan_take_snapshot(Flight *flight, const char *snapshot)
{
	Fan *fan = flight->fan;

	fan->snapshot = MemoryContextStrdup(flight->run->context, snapshot);
	fan->waited = fan->waited_in_all = 0;
}

static void
forget_flight(Flight *flight)
{
	Fan *fan = flight->fan;

	fan->flights = list_delete_ptr(fan->flights, flight);
	if (fan->flights == NIL)
		fan->run->fans = list_delete_ptr(fan->run->fans, fan);
}

/* Gives the tasks of a session that could not be had back. */
static void
take_back(Flight *flight)
{
	Fan *fan = flight->fan;

	tasks_put(&fan->waiting, flight->tasks);
	fan->closed = true;
	flight_ended(flight);
	forget_flight(flight);
	xact_reader_drop(flight->session);
}

/* Tasks of a session that has yet to connect are free for one that is ready. */
static void
take_from_connecting(Fan *fan)
{
	foreach_ptr (Flight, flight, fan->flights)
	{
		if (flight->session->state == SESSION_CONNECTING)
		{
			take_back(flight);
			return;
		}
	}
}

/*
 * The flight's session has done its tasks: sends the next ones. False when there are
 * none: the flight is over.
 */
bool
fan_next_tasks(Flight *flight)
{
	MemoryContext old = MemoryContextSwitchTo(flight->run->context);
	Fan *fan = flight->fan;
	bool sent;

	if (flight->tasks != NIL)
		fan->milliseconds += elapsed_ms(flight->sent);
	fan->done += list_length(flight->tasks);
	if (tasks_waiting(&fan->waiting) == 0)
		take_from_connecting(fan);
	sent = tasks_waiting(&fan->waiting) > 0;
	if (sent)
	{
		take_tasks(fan, flight);
		flight_send(flight, "");
	}
	else
		forget_flight(flight);
	MemoryContextSwitchTo(old);
	return sent;
}

/*
 * A flight's session is lost. True when the others do its tasks; else flight->tasks are
 * all that the fan had to do.
 */
bool
fan_flight_lost(Flight *flight)
{
	Fan *fan = flight->fan;

	if (fan->snapshot != NULL && flight->connecting)
	{
		take_back(flight);
		return true;
	}
	flight->tasks = list_concat(flight->tasks, tasks_take(&fan->waiting, INT_MAX));
	forget_flight(flight);
	return false;
}

static void
add_session(Fan *fan)
{
	FragmentRun *run = fan->run;
	MemoryContext old = MemoryContextSwitchTo(run->context);
	Session *session = xact_reader(fan->node, fan->snapshot);

	if (session == NULL)
		fan->closed = true;
	else
	{
		Flight *flight = flight_create(run, fan->node, session);

		flight->fan = fan;
		fan->flights = lappend(fan->flights, flight);
		take_tasks(fan, flight);
		flight_send(flight, "");
	}
	MemoryContextSwitchTo(old);
}

/* Is what is left to do worth one more session? As long as no task is done, one takes at
 * least as long as was waited for it. */
static bool
is_behind(const Fan *fan)
{
	double each =
		fan->done > 0 ? fan->milliseconds / fan->done : fan->waited_in_all - COLD_MS;

	return executor_force_spread ||
		   each * tasks_waiting(&fan->waiting) / list_length(fan->flights) >
			   SESSION_WORTH_MS;
}

/* May the fan have one more session, now or when it has waited for longer? */
static bool
may_grow(const Fan *fan)
{
	return !fan->closed && fan->snapshot != NULL && tasks_waiting(&fan->waiting) > 0 &&
		   list_length(fan->flights) < fan->limit && (fan->done == 0 || is_behind(fan));
}

/* How long the backend may wait before it looks after its fans, in ms; -1: as long as it
 * likes. */
long
fans_timeout(FragmentRun *run)
{
	long timeout = -1;

	foreach_ptr (Fan, fan, run->fans)
	{
		long left = executor_slow_start_ms - (long) fan->waited;

		if (!may_grow(fan))
			continue;
		if (left <= 0)
			left = executor_slow_start_ms;
		if (executor_force_spread || left <= 0)
			left = 1;
		timeout = timeout < 0 ? left : Min(timeout, left);
	}
	return timeout;
}

/* The backend had nothing to do but wait for that long: sessions are added where it pays.
 */
void
fans_waited(FragmentRun *run, double milliseconds)
{
	foreach_ptr (Fan, fan, run->fans)
	{
		fan->waited += milliseconds;
		fan->waited_in_all += milliseconds;
		while (may_grow(fan) && is_behind(fan) &&
			   (executor_force_spread || fan->waited >= executor_slow_start_ms))
		{
			add_session(fan);
			fan->waited = 0;
			if (!executor_force_spread)
				break;
		}
	}
}
