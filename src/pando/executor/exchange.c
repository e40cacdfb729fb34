/*
 * exchange.c: exchanges: results whose rows go from node to node.
 *
 * The readers' tasks say where each part goes. When the rows are a fragment's, each of
 * its nodes runs its tasks and splits their rows (split.h), all at once; other rows are
 * split here. Which node made which part is known then, so that a reader can name its
 * files, and a missing one is an error.
 */
#include "pando/compat/compat.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pando/base/debug_point.h"
#include "pando/base/int_map.h"
#include "pando/executor/decode.h"
#include "pando/executor/exchange.h"
#include "pando/executor/intermediate.h"
#include "pando/executor/flight.h"
#include "pando/executor/run.h"
#include "pando/executor/scan.h"
#include "pando/executor/settings.h"
#include "pando/executor/split.h"
#include "pando/metadata/table.h"
#include "pando/plan/exchange_argument.h"
#include "pando/transaction/xact.h"

/* Bytes of values in the texts of all tasks; with more the rows come by way of this node.
 */
#define MAX_IN_TEXTS (256 * 1024 * 1024)

/* ------------------------------------------------------------------------------------
 * Where the parts go.
 */

static void
set_targets(SplitSpec *spec, FragmentRun *run)
{
	bool write = run->fragment->command != CMD_SELECT;
	int most = 0;

	DEBUG_STEPS(list_length(run->tasks));
	foreach_ptr (Task, task, run->tasks)
		most += write ? Max(task->nplacements, 1) : 1;
	spec->targets = palloc(sizeof(SplitTarget) * (most + 1));
	foreach_ptr (Task, task, run->tasks)
	{
		int part = spec->column > 0 ? task->shard_index : 0;

		if (task->nplacements == 0)
			spec->targets[spec->ntargets++] = (SplitTarget){part, node_local_group()};
		for (int i = 0; i < task->nplacements; i++)
		{
			if (write || i == task->placement)
				spec->targets[spec->ntargets++] =
					(SplitTarget){part, task->placements[i].group};
		}
	}
	split_order_targets(spec);
}

static void
make_spec(SplitSpec *spec, FragmentRun *run, const SubResult *sub, TupleDesc desc)
{
	memset(spec, 0, sizeof(SplitSpec));
	spec->name = psprintf("%s%d", run->result_prefix, sub->number);
	spec->binary = columns_travel_binary(desc);
	spec->column = sub->column;
	spec->keep_nulls = sub->keep_nulls;
	spec->limit = sub->stored ? -1 : executor_max_result_size;
	spec->nparts = sub->column > 0 ? run->anchor->nshards : 1;
	spec->min_hash = palloc(sizeof(int32) * spec->nparts);
	spec->min_hash[0] = PG_INT32_MIN;
	for (int i = 0; sub->column > 0 && i < spec->nparts; i++)
		spec->min_hash[i] = run->anchor->shards[i].min_hash;
	set_targets(spec, run);
	spec->text = split_text(spec);
}

static int
other_groups(const SplitSpec *spec)
{
	IntMap *seen = int_map_create();
	int count = 0;

	for (int i = 0; i < spec->ntargets; i++)
	{
		int32 group = spec->targets[i].group;

		count += int_map_first(seen, group) && group != node_local_group();
	}
	return count;
}

/* ------------------------------------------------------------------------------------
 * Sending.
 */

/* What a node made of a part. It says all of its parts before another one says any. */
static void
note_part(SubRun *ran, int32 group, int part, int64 rows)
{
	List *sources = ran->sources[part];

	DEBUG_STEPS(1);
	ran->rows += rows;
	if (rows > 0 && (sources == NIL || llast_int(sources) != group))
		ran->sources[part] = lappend_int(sources, group);
}

static void
note_splitter(SubRun *ran, const SplitSpec *spec, DestReceiver *splitter)
{
	for (int i = 0; i < spec->nparts; i++)
		note_part(ran, node_local_group(), i, splitter_rows(splitter)[i]);
	ran->bytes += splitter_bytes(splitter);
}

/* The nodes that split a fragment's rows. */
typedef struct Senders
{
	FragmentRun *source;
	const SplitSpec *spec;
	SubRun *ran;
	MemoryContext context;
	List *sessions; /* of those that still do */
} Senders;

/* One of them; its session may be wanted for rows from here meanwhile. */
typedef struct Sending
{
	SessionHolder holder; /* first; holder.session is NULL when it is over */
	Senders *senders;
	Session *session;
	int32 group;
} Sending;

static void
pg_attribute_noreturn() malformed(const Sending *sending, const char *answer)
{
	const NodeAddress *address = &sending->session->address;

	ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
					errmsg("unexpected answer of node %s:%d: \"%s\"", address->host,
						   address->port, answer)));
}

static int64
next_number(const Sending *sending, const char **p, const char *answer)
{
	char *end;
	int64 number = strtoll(*p + 1, &end, 10);

	if (end == *p + 1)
		malformed(sending, answer);
	*p = end;
	return number;
}

/* The result of pando.exchange_send(): bytes, then part and rows of each part with rows.
 */
static void
note_answer(const Sending *sending, const char *answer)
{
	SubRun *ran = sending->senders->ran;
	const char *p = answer;

	ran->bytes += next_number(sending, &p, answer);
	while (*p == ',')
	{
		int64 part = next_number(sending, &p, answer);

		if (part < 0 || part >= sending->senders->spec->nparts || *p != ',')
			malformed(sending, answer);
		note_part(ran, sending->group, part, next_number(sending, &p, answer));
	}
}

static void
sending_finish(SessionHolder *holder)
{
	Sending *sending = (Sending *) holder;
	Senders *senders = sending->senders;
	Session *session = sending->session;
	MemoryContext old = MemoryContextSwitchTo(senders->context);
	List *wanted = list_make1(session);

	while (holder->session != NULL)
	{
		PGresult *result = session_result(session);

		if (result == NULL && session->state == SESSION_IDLE)
		{
			senders->sessions = list_delete_ptr(senders->sessions, session);
			session_unhold(holder);
		}
		else if (result == NULL && session->state == SESSION_DEAD)
			session_raise_lost(session, ERROR);
		else if (result == NULL)
			(void) session_wait_any(wanted, -1);
		else if (PQresultStatus(result) == PGRES_FATAL_ERROR)
			session_raise_reason(session, result, senders->sessions);
		else
		{
			if (PQntuples(result) == 1)
				note_answer(sending, session_value(result, 0, 0));
			session_result_free(result);
		}
	}
	list_free(wanted);
	MemoryContextSwitchTo(old);
}

static Sending *
start_sending(Senders *senders, List *tasks)
{
	const DistNode *node = ((Task *) linitial(tasks))->node;
	Sending *sending = palloc0(sizeof(Sending));
	StringInfoData sql;

	initStringInfo(&sql);
	foreach_ptr (char, text, tasks_as_unions(senders->source, tasks, true))
		appendStringInfo(&sql, "%s;", split_command(senders->spec, text));
	sending->holder.drain = sending_finish;
	sending->senders = senders;
	sending->session = xact_session_of(node, XACT_SNAPSHOT, senders->source->estate);
	sending->group = node->group;
	senders->sessions = lappend(senders->sessions, sending->session);
	session_send_simple(sending->session, sql.data);
	session_hold(sending->session, &sending->holder);
	pfree(sql.data);
	return sending;
}

static void
send_here(FragmentRun *source, List *tasks, SubRun *ran, const SplitSpec *spec)
{
	foreach_ptr (char, text, tasks_as_unions(source, tasks, true))
	{
		DestReceiver *splitter = splitter_create(spec);
		LocalQuery *query = local_open(text, 0, NULL, NULL, false, 0, NIL);

		local_run(query, splitter);
		local_close(query);
		note_splitter(ran, spec, splitter);
	}
}

/* The tasks of a fragment send their rows. */
static void
send_tasks(FragmentRun *source, SubRun *ran, const SplitSpec *spec)
{
	Senders senders = {source, spec, ran, CurrentMemoryContext, NIL};
	List *here = NIL;
	List *volatile sendings = NIL;
	List *elsewhere = NIL;

	tasks_avoid_lost_nodes(source, source->tasks);
	foreach_ptr (Task, task, source->tasks)
	{
		if (task->local)
			here = lappend(here, task);
		else
			elsewhere = lappend(elsewhere, task);
	}
	PG_TRY();
	{
		foreach_ptr (List, tasks, tasks_by_node(elsewhere))
			sendings = lappend(sendings, start_sending(&senders, tasks));
		if (here != NIL)
			send_here(source, here, ran, spec);
		foreach_ptr (Sending, sending, sendings)
			sending_finish(&sending->holder);
	}
	PG_FINALLY();
	{
		foreach_ptr (Sending, sending, sendings)
			session_unhold(&sending->holder);
	}
	PG_END_TRY();
}

/*
 * The rows come here first: values that are too long for the texts of a node's tasks are
 * parameters of its one statement.
 */
static void
send_through_here(FragmentRun *source, SubRun *ran, const SplitSpec *spec)
{
	DestReceiver *splitter = splitter_create(spec);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(source->desc, &TTSOpsVirtual);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "row to be split",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;

	splitter->rStartup(splitter, CMD_SELECT, source->desc);
	run_launch(source);
	old = MemoryContextSwitchTo(context);
	while (run_next(source, slot->tts_values, slot->tts_isnull))
	{
		CHECK_FOR_INTERRUPTS();
		(void) splitter->receiveSlot(ExecStoreVirtualTuple(slot), splitter);
		ExecClearTuple(slot);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	splitter->rShutdown(splitter);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(context);
	note_splitter(ran, spec, splitter);
}

static void
send_rows(QueryDesc *query, SubRun *ran, const SplitSpec *spec)
{
	DestReceiver *splitter = splitter_create(spec);

	query->dest = splitter;
	PushActiveSnapshot(query->snapshot);
	ExecutorRun(query, ForwardScanDirection, 0, true);
	ExecutorFinish(query);
	PopActiveSnapshot();
	note_splitter(ran, spec, splitter);
}

void
exchange_run(FragmentRun *run, const SubResult *sub, QueryDesc *query, SubRun *ran)
{
	SplitSpec spec;

	make_spec(&spec, run, sub, query->tupDesc);
	ran->sources = palloc0(sizeof(List *) * spec.nparts);
	ran->binary = spec.binary;
	if (sub->from_nodes && scan_tasks_are_free(query->planstate))
	{
		FragmentRun *source = scan_prepare_run(query->planstate);

		if (query->planstate->instrument != NULL)
			InstrStartNode(query->planstate->instrument);
		source->sends = !values_are_bulky(
			&source->params, MAX_IN_TEXTS / Max(list_length(source->tasks), 1));
		if (source->sends)
			send_tasks(source, ran, &spec);
		else
			send_through_here(source, ran, &spec);
		if (query->planstate->instrument != NULL)
			InstrStopNode(query->planstate->instrument, ran->rows);
		ExecutorFinish(query);
	}
	else
		send_rows(query, ran, &spec);
	/* Each node has looked at its own rows only. */
	result_check_size(ran->bytes, spec.limit);
	ran->nremote = other_groups(&spec);
}

/* ------------------------------------------------------------------------------------
 * Reading.
 */

/* Values of each column in some of the parts, to which those of the key are divided. */
static List *
distinct_values(const SubResult *sub, int some, int all)
{
	List *distinct = list_copy(sub->distinct);

	if (sub->column > 0 && sub->column <= list_length(distinct))
	{
		ListCell *key = list_nth_cell(distinct, sub->column - 1);

		if (lfirst_int(key) > 0)
			lfirst_int(key) = Max((int64) lfirst_int(key) * some / all, 1);
	}
	return distinct;
}

char *
exchange_files(const FragmentRun *run, const SubResult *sub, const SubRun *ran,
			   const char *name, List *tasks)
{
	ExchangeArgument argument = {.result = name, .files = ""};
	StringInfoData files;

	if (ran == NULL)
		return exchange_argument_text(&argument);
	initStringInfo(&files);
	foreach_ptr (Task, task, tasks)
	{
		int part = sub->column > 0 ? task->shard_index : 0;

		foreach_int(group, ran->sources[part])
			appendStringInfo(&files, "%d_%d,", part, group);
		if (sub->column == 0)
			break;
	}
	argument.binary = ran->binary;
	argument.files = files.data;
	argument.distinct = distinct_values(sub, list_length(tasks), run->anchor->nshards);
	return exchange_argument_text(&argument);
}
