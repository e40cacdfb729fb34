/*
 * flight.c: a run's tasks on other nodes.
 *
 * All tasks of one node go in one flight over the transaction's owner session (fan.c has
 * the exception):
 *
 *   one task, small          a prepared statement with parameters, rows in binary
 *   reads, very long values  the same, of all of the node's tasks in one, not prepared
 *   otherwise, with rows     COPY (task) TO STDOUT (FORMAT binary); per task, values
 * inline types that can't travel  the statements themselves, values inline, rows as text
 *   nothing comes out        the statements themselves, values inline
 *
 * In the simple protocol each statement ends with exactly one result, so results are
 * counted off against the list of steps. EXPLAIN ANALYZE adds steps around each task that
 * make the node keep its plan and hand it over (explain_worker.c).
 *
 * While a flight is under way the run holds the session: who needs it makes the run take
 * in the rest first, into its spill.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "pando/base/statement_caches.h"
#include "pando/executor/explain_worker.h"
#include "pando/executor/fan.h"
#include "pando/executor/flight.h"
#include "pando/executor/kept_text.h"
#include "pando/executor/order.h"
#include "pando/executor/run.h"
#include "pando/executor/task.h"
#include "pando/transaction/access.h"
#include "pando/transaction/xact.h"

/* More rows than this from one task are worth a COPY. */
#define COPY_ROWS 10000.0

#define CONNECT_WAIT_MS 2

typedef enum StepKind
{
	STEP_TASK,
	STEP_PLAN, /* the node's plan of the task before */
	STEP_SNAPSHOT,
	STEP_OTHER
} StepKind;

typedef struct Step
{
	StepKind kind;
	Task *task;
} Step;

static void
add_step(Flight *flight, StepKind kind, Task *task)
{
	Step *step = palloc(sizeof(Step));

	step->kind = kind;
	step->task = task;
	flight->steps = lappend(flight->steps, step);
}

static Step *
current_step(Flight *flight)
{
	if (flight->step >= list_length(flight->steps))
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("node %s:%d sent more results than there were statements",
							   flight->node->host, flight->node->port)));
	return list_nth(flight->steps, flight->step);
}

bool
flight_is_over(const Flight *flight)
{
	return flight->holder.session == NULL;
}

/* ------------------------------------------------------------------------------------
 * Sending.
 */

/*
 * A statement that is to stay prepared on the node. It must become another one when the
 * types of its columns change, for PostgreSQL does not let a prepared statement's result
 * change.
 */
static char *
make_reusable_text(FragmentRun *run, Task *task)
{
	char *text = task_text(run, task, false);
	uint32 hash = 0;

	if (run->desc == NULL)
		return text;
	for (int i = 0; i < run->desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(run->desc, i);

		hash = hash_combine(hash, murmurhash32(attribute->atttypid));
		hash = hash_combine(hash, murmurhash32(attribute->atttypmod));
	}
	return psprintf("%s /* %x */", text, hash);
}

static const char *
reusable_text(FragmentRun *run, Task *task)
{
	uint64 fragment = run->fragment->id;
	const char *text;

	/* Names of intermediate results are new each time. */
	if (run->fragment->subplans != NIL)
		return make_reusable_text(run, task);
	text = kept_text_find(fragment, task->shard_index);
	if (text == NULL)
	{
		uint32 epoch = session_statements_epoch();

		text = make_reusable_text(run, task);
		if (epoch == session_statements_epoch())
			kept_text_add(fragment, task->shard_index, text);
	}
	return text;
}

/* The statement that has its values as parameters. */
static const char *
params_text(Flight *flight, Task *task, SessionReuse reuse)
{
	FragmentRun *run = flight->run;

	if (list_length(flight->tasks) > 1)
		return linitial(tasks_as_unions(run, flight->tasks, false));
	return reuse != REUSE_NOTHING ? reusable_text(run, task)
								  : task_text(run, task, false);
}

/* Parameters of a task or of several together: the fragment's and the rows'. */
static void
send_params(Flight *flight)
{
	FragmentRun *run = flight->run;
	Task *task = linitial(flight->tasks);
	int count = run->params.count;
	const char **values;
	int *lengths;
	SessionReuse reuse = REUSE_NOTHING;

	foreach_ptr (RunValues, row, task->rows)
		count += row->count;
	values = palloc(sizeof(char *) * (count + 1));
	lengths = palloc(sizeof(int) * (count + 1));
	values_bind(&run->params, values, lengths);
	count = run->params.count;
	foreach_ptr (RunValues, row, task->rows)
	{
		values_bind(row, values + count, lengths + count);
		count += row->count;
	}
	/* What is said of several tasks, or rows, is hardly said again. */
	if (statement_caches != STATEMENT_CACHES_NEVER && count > 0 &&
		list_length(flight->tasks) == 1 && list_length(task->rows) <= 1)
		reuse = run->fragment->plans_anew ? REUSE_STATEMENT : REUSE_PLAN;
	add_step(flight, STEP_TASK, task);
	session_send_params(flight->session, params_text(flight, task, reuse), count, values,
						lengths, run->binary, reuse);
}

static void
append_task(Flight *flight, StringInfo sql, Task *task)
{
	FragmentRun *run = flight->run;
	char *text = task_text(run, task, true);

	if (run->explain.analyze)
	{
		add_step(flight, STEP_OTHER, NULL);
		appendStringInfoString(sql, explain_request(&run->explain));
	}
	add_step(flight, STEP_TASK, task);
	if (run->desc != NULL && run->binary)
		appendStringInfo(sql, "COPY (%s) TO STDOUT (FORMAT binary);", text);
	else
		appendStringInfo(sql, "%s;", text);
	pfree(text);
	if (run->explain.analyze)
	{
		add_step(flight, STEP_PLAN, task);
		appendStringInfoString(sql, explain_fetch());
		add_step(flight, STEP_OTHER, NULL);
		appendStringInfoString(sql, explain_stop());
	}
}

/*
 * Reads of one node go as one statement: it sees one snapshot whatever the isolation
 * level, and the node may spread its parts over cores.
 */
static bool
goes_as_union(const Flight *flight)
{
	const FragmentRun *run = flight->run;

	return run->fragment->command == CMD_SELECT && list_length(flight->tasks) > 1 &&
		   !run->explain.analyze;
}

static void
send_texts(Flight *flight, const char *ahead)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, ahead);
	if (ahead[0] != '\0')
		add_step(flight, STEP_SNAPSHOT, NULL);
	if (goes_as_union(flight))
	{
		foreach_ptr (char, text, tasks_as_unions(flight->run, flight->tasks, true))
		{
			add_step(flight, STEP_TASK, linitial(flight->tasks));
			appendStringInfo(&sql,
							 flight->run->binary ? "COPY (%s) TO STDOUT (FORMAT binary);"
												 : "%s;",
							 text);
			pfree(text);
		}
	}
	else
		foreach_ptr (Task, task, flight->tasks)
			append_task(flight, &sql, task);
	if (flight->run->fragment->template->roles != NIL)
		sql.data = access_sign(flight->session, flight->run->fragment->template->roles,
							   sql.data);
	session_send_simple(flight->session, sql.data);
	pfree(sql.data);
}

static bool
goes_with_params(const Flight *flight)
{
	FragmentRun *run = flight->run;
	const Task *task;

	/* A signature is good for one time. */
	if (flight->fan != NULL || run->explain.analyze ||
		run->fragment->template->roles != NIL)
		return false;
	if (list_length(flight->tasks) != 1)
		return goes_as_union(flight) && list_length(flight->tasks) <= MAX_UNION &&
			   values_are_bulky(&run->params, BULKY);
	task = linitial(flight->tasks);
	return (list_length(task->rows) <= 1 || task_is_bulky(run, task, BULKY)) &&
		   (run->desc == NULL || !run->binary || run->fragment->command != CMD_SELECT ||
			run->fragment->rows / list_length(run->tasks) <= COPY_ROWS ||
			values_are_bulky(&run->params, BULKY));
}

/* May the statement be its own transaction on the node? */
static bool
is_alone(const FragmentRun *run, bool write)
{
	/* Signatures are for one backend, which a pooler keeps for a transaction. */
	return run->whole && list_length(run->tasks) == 1 && run->subruns == NIL &&
		   run->fragment->template->roles == NIL && !run->explain.analyze &&
		   !xact_must_join() &&
		   (!write || ((Task *) linitial(run->tasks))->nplacements == 1);
}

/* May the statement read a node by several commands? What locks rows reads them anew,
 * newer ones, when one has changed. */
static bool
is_one_of_several(const FragmentRun *run)
{
	const Fragment *fragment = run->fragment;

	return fragment->command == CMD_SELECT && !fragment->locks && !fragment->first_copy &&
		   fragment->restart == 0 &&
		   (!run->whole || run->subruns != NIL || run->explain.analyze ||
			list_length(run->tasks) > MAX_UNION || xact_shares_snapshot(run->estate));
}

static void flight_drain(SessionHolder *holder);

/* A flight without tasks yet, under way; in the run's context. */
Flight *
flight_create(FragmentRun *run, const DistNode *node, Session *session)
{
	Flight *flight = palloc0(sizeof(Flight));

	flight->run = run;
	flight->node = node;
	flight->session = session;
	flight->connecting = session->state == SESSION_CONNECTING;
	flight->holder.drain = flight_drain;
	flight->spill = order_spill(run, flight);
	run->flights = lappend(run->flights, flight);
	return flight;
}

/* Sends the flight's tasks; `ahead`: a statement before them that exports the snapshot.
 */
void
flight_send(Flight *flight, const char *ahead)
{
	FragmentRun *run = flight->run;

	session_unhold(&flight->holder);
	list_free_deep(flight->steps);
	flight->steps = NIL;
	flight->step = 0;
	flight->header = true;
	INSTR_TIME_SET_CURRENT(flight->sent);
	if (goes_with_params(flight))
		send_params(flight);
	else
		send_texts(flight, ahead);
	if (run->fragment->command == CMD_SELECT || run->desc != NULL)
		session_stream_rows(flight->session);
	session_hold(flight->session, &flight->holder);
}

Flight *
flight_start(FragmentRun *run, const DistNode *node, List *tasks, bool write)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);
	XactAccess access = write						? XACT_WRITE
						: run->fragment->locks		? XACT_LOCK
						: run->fragment->only_reads ? XACT_ONLY_READ
													: XACT_SNAPSHOT;
	Flight *flight;

	if (is_alone(run, write))
		access = write ? XACT_WRITE_ALONE : XACT_READ_ALONE;
	flight = flight_create(
		run, node,
		xact_session_of(node, access, is_one_of_several(run) ? run->estate : NULL));
	flight->tasks = tasks;
	flight->write = write;
	flight_send(flight, "");
	MemoryContextSwitchTo(old);
	return flight;
}

/* ------------------------------------------------------------------------------------
 * Receiving.
 */

void
flight_ended(Flight *flight)
{
	FragmentRun *run = flight->run;

	session_unhold(&flight->holder);
	run->flights = list_delete_ptr(run->flights, flight);
	if (run->current == flight)
		run->current = NULL;
}

/* A node that can't be reached: its tasks move to other copies, with a warning. */
static bool
flight_fail_over(Flight *flight)
{
	FragmentRun *run = flight->run;

	if (!flight->connecting || flight->write || run->fragment->command != CMD_SELECT ||
		run->subruns != NIL)
		return false;
	foreach_ptr (Task, task, flight->tasks)
	{
		if (!task_next_placement(run, task))
			return false;
	}
	session_raise_lost(flight->session, WARNING);
	return true;
}

static void
flight_lost(Flight *flight)
{
	Session *session = flight->session;
	FragmentRun *run = flight->run;

	if (flight->fan != NULL && fan_flight_lost(flight))
		return;
	if (!flight_fail_over(flight))
		session_raise_lost(session, ERROR);
	flight_ended(flight);
	reads_assign(run, flight->tasks);
}

/* One statement's result has come to its end. */
static void
step_ended(Flight *flight, const PGresult *result)
{
	Step *step = current_step(flight);

	if (step->kind == STEP_TASK)
		task_count(flight->run, step->task,
				   strtoull(PQcmdTuples(unconstify(PGresult *, result)), NULL, 10));
	flight->step++;
	flight->header = true;
}

static void
take_plan(Flight *flight, PGresult *result)
{
	Task *task = current_step(flight)->task;

	if (PQntuples(result) != 1 || PQgetisnull(result, 0, 1))
		return;
	task->milliseconds = strtod(session_value(result, 0, 0), NULL);
	task->plan = MemoryContextStrdup(flight->run->context, session_value(result, 0, 1));
}

/* A result with rows; they are handed out by next_result_row(). False: none of ours. */
static bool
take_rows(Flight *flight, PGresult *result)
{
	Step *step = current_step(flight);

	if (step->kind == STEP_PLAN)
		take_plan(flight, result);
	if (step->kind == STEP_SNAPSHOT && PQntuples(result) == 1)
		fan_take_snapshot(flight, session_value(result, 0, 0));
	if (step->kind != STEP_TASK || flight->run->desc == NULL || PQntuples(result) == 0)
		return false;
	flight->result = result;
	flight->row = 0;
	return true;
}

/* Does a result of this status end its statement? */
static bool
ends_statement(ExecStatusType status)
{
	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
		   status == PGRES_EMPTY_QUERY;
}

static bool
next_result_row(Flight *flight, Datum *values, bool *nulls, Task **task)
{
	PGresult *result = flight->result;

	if (flight->row < PQntuples(result))
	{
		uint64 bytes =
			decode_result_row(flight->run->decoder, result, flight->row++, values, nulls);

		*task = current_step(flight)->task;
		(*task)->bytes += bytes;
		return true;
	}
	flight->result = NULL;
	if (ends_statement(PQresultStatus(result)))
		step_ended(flight, result);
	session_result_free(result);
	return false;
}

static bool
take_copy_row(Flight *flight, char *data, int length, Datum *values, bool *nulls,
			  Task **task)
{
	int used = 0;

	if (flight->header)
	{
		used = decode_copy_header(data, length, NULL);
		flight->header = false;
	}
	if (used == length || decode_copy_row(flight->run->decoder, data + used,
										  length - used, values, nulls) == 0)
		return false;
	*task = current_step(flight)->task;
	/* The values alone, without their lengths. */
	(*task)->bytes +=
		length - used - sizeof(int16) - sizeof(int32) * flight->run->desc->natts;
	return true;
}

static PGresult *
next_result(Flight *flight)
{
	MemoryContext old = MemoryContextSwitchTo(flight->run->context);
	PGresult *result = session_result(flight->session);

	MemoryContextSwitchTo(old);
	return result;
}

static void
pg_attribute_noreturn() flight_raise(Flight *flight, const PGresult *error)
{
	List *sessions = NIL;

	foreach_ptr (Flight, other, flight->run->flights)
		sessions = lappend(sessions, other->session);
	session_raise_reason(flight->session, error, sessions);
}

/*
 * The next row that has arrived, with values in the current memory context. False when
 * none has, or the flight is over.
 */
bool
flight_next(Flight *flight, Datum *values, bool *nulls, Task **task)
{
	Session *session = flight->session;

	while (!flight_is_over(flight))
	{
		PGresult *result;

		if (flight->result != NULL)
		{
			if (next_result_row(flight, values, nulls, task))
				return true;
			continue;
		}
		if (session->state == SESSION_COPY_OUT)
		{
			const char *data;
			int length = session_copy_get(session, &data);

			if (length == 0)
				return false;
			if (length > 0)
			{
				flight->connecting = false;
				if (take_copy_row(flight, unconstify(char *, data), length, values, nulls,
								  task))
					return true;
				continue;
			}
		}
		result = next_result(flight);
		if (result == NULL)
		{
			if (session->state == SESSION_IDLE)
			{
				if (flight->step < list_length(flight->steps))
					ereport(
						ERROR,
						(errcode(ERRCODE_IN_FAILED_SQL_TRANSACTION),
						 errmsg("rows of a query that was still running on node %s:%d "
								"are lost",
								session->address.host, session->address.port),
						 errdetail("An error in it was caught while another statement "
								   "used the node.")));
				if (flight->fan != NULL && fan_next_tasks(flight))
					continue;
				flight_ended(flight);
			}
			else if (session->state == SESSION_DEAD)
				flight_lost(flight);
			else if (session->state == SESSION_COPY_OUT)
				continue;
			return false;
		}
		flight->connecting = false;
		switch (PQresultStatus(result))
		{
			case PGRES_SINGLE_TUPLE:
			case PGRES_TUPLES_OK:
			case PGRES_COMMAND_OK:
			case PGRES_EMPTY_QUERY:
				if (take_rows(flight, result))
					continue;
				if (ends_statement(PQresultStatus(result)))
					step_ended(flight, result);
				session_result_free(result);
				break;
			default:
				flight_raise(flight, result);
		}
	}
	return false;
}

/* Waits until something has come for one of the flights. */
void
flights_wait(FragmentRun *run)
{
	List *sessions = NIL;

	foreach_ptr (Flight, flight, run->flights)
		sessions = lappend(sessions, flight->session);
	if (sessions == NIL)
		return;
	if (run->fans == NIL)
		(void) session_wait_any(sessions, -1);
	else
	{
		instr_time start;

		INSTR_TIME_SET_CURRENT(start);
		(void) session_wait_any(sessions, fans_timeout(run));
		fans_waited(run, elapsed_ms(start));
	}
	list_free(sessions);
}

/*
 * Waits until no flight waits for its connection. Without it, long work in this backend,
 * or a client that thinks between two FETCHes, would use up the time to connect.
 */
void
flights_connect(FragmentRun *run)
{
	for (;;)
	{
		List *connecting = NIL;

		foreach_ptr (Flight, flight, run->flights)
		{
			if (flight->session->state == SESSION_CONNECTING)
				connecting = lappend(connecting, flight->session);
		}
		if (connecting == NIL)
			return;
		/* It returns at results or at the end of this time, not when connected. */
		(void) session_wait_any(connecting, CONNECT_WAIT_MS);
		list_free(connecting);
	}
}

/* Another statement needs the session: all that is still to come goes to the spill. */
static void
flight_drain(SessionHolder *holder)
{
	Flight *flight = (Flight *) holder;
	FragmentRun *run = flight->run;
	int ncolumns = run->desc ? run->desc->natts : 0;
	Datum *values = palloc(sizeof(Datum) * (ncolumns + 1));
	bool *nulls = palloc(sizeof(bool) * (ncolumns + 1));
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "drained row",
												  ALLOCSET_DEFAULT_SIZES);

	while (!flight_is_over(flight))
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		Task *task;

		if (flight_next(flight, values, nulls, &task))
			spill_put(run, flight->spill, values, nulls);
		else if (!flight_is_over(flight))
		{
			List *sessions = list_make1(flight->session);

			(void) session_wait_any(sessions, -1);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	pfree(values);
	pfree(nulls);
}

/*
 * Nobody wants the rest. A cancelled statement takes the node's transaction with it:
 * where that goes on, the rows are thrown away instead.
 */
void
flight_stop(Flight *flight, bool may_cancel)
{
	Session *session = flight->session;

	if (flight->result != NULL)
		session_result_free(flight->result);
	flight->result = NULL;
	flight_ended(flight);
	if (session->state == SESSION_CONNECTING || session->state == SESSION_DEAD ||
		!session->in_xact || (may_cancel && !session->wrote))
		session_cancel(session);
	else
		session_result_free(session_finish(session));
}

/* The run's memory goes: whoever ends the transaction deals with the sessions. */
void
flights_forget(void *arg)
{
	FragmentRun *run = arg;

	foreach_ptr (Flight, flight, run->flights)
		session_unhold(&flight->holder);
	run->flights = NIL;
}

/* ------------------------------------------------------------------------------------
 * Reads: which task goes where.
 */

/* Groups to whose nodes the connection was lost in this transaction. */
static List *
lost_groups(void)
{
	List *sessions = session_claimed_list();
	List *lost = NIL;

	foreach_ptr (Session, session, sessions)
	{
		if (session->state == SESSION_DEAD)
			lost = lappend_int(lost, session->address.group);
	}
	list_free(sessions);
	return lost;
}

/* A node that is known to be away is passed over if there is another copy. */
void
tasks_avoid_lost_nodes(FragmentRun *run, List *tasks)
{
	List *lost = NIL;
	bool asked = false;

	foreach_ptr (Task, task, tasks)
	{
		/* Most have but one. */
		if (task->nplacements - task->tried <= 1)
			continue;
		if (!asked)
			lost = lost_groups();
		asked = true;
		while (!task->local && !run->fragment->first_copy &&
			   task->nplacements - task->tried > 1 &&
			   (!task->node->active || list_member_int(lost, task->node->group)))
			(void) task_next_placement(run, task);
	}
	list_free(lost);
}

/* Starts the tasks: local ones are put in line, the others go out now. */
void
reads_assign(FragmentRun *run, List *tasks)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);
	List *here = NIL;
	List *elsewhere = NIL;

	tasks_avoid_lost_nodes(run, tasks);
	foreach_ptr (Task, task, tasks)
	{
		if (task->local)
			here = lappend(here, task);
		else
			elsewhere = lappend(elsewhere, task);
	}
	tasks_put(&run->local_tasks, here);
	foreach_ptr (List, together, tasks_by_node(elsewhere))
	{
		const DistNode *node = ((Task *) linitial(together))->node;

		if (!fan_start(run, node, together))
			(void) flight_start(run, node, together, false);
	}
	flights_connect(run);
	MemoryContextSwitchTo(old);
}
