/*
 * explain_worker.c: how a task's own plan is had from the node that ran it.
 *
 * pando.explain_task is a bit mask of EXPLAIN's options, 0 being off. While it is set,
 * the outermost query of the backend is instrumented at ExecutorStart; at ExecutorEnd its
 * plan is kept as text for pando.last_explain(). What that query calls is not looked at.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "funcapi.h"
#include "optimizer/planner.h"
#include "portability/instr_time.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pando/base/hook.h"
#include "pando/executor/explain_worker.h"
#include "pando/executor/run.h"
#include "pando/executor/run_local.h"

PG_FUNCTION_INFO_V1(last_explain);

enum
{
	OPTION_ANALYZE = 1,
	OPTION_TIMING = 2,
	OPTION_BUFFERS = 4,
	OPTION_WAL = 8,
	OPTION_COSTS = 16,
	OPTION_VERBOSE = 32,
	OPTION_SETTINGS = 64,
	OPTION_SUMMARY = 128,
	OPTION_FORMAT_SHIFT = 8
};

static int explain_task = 0;

/* The query that is being watched, and what is known of the last one. */
static QueryDesc *watched = NULL;
static int watched_level = 0;
static instr_time watched_since;
static double watched_planning_ms = 0;
static double planning_ms = 0;
static char *last_plan = NULL;
static double last_execution_ms = 0;

static int
options_pack(const RunExplain *explain)
{
	return (explain->analyze ? OPTION_ANALYZE : 0) |
		   (explain->timing ? OPTION_TIMING : 0) |
		   (explain->buffers ? OPTION_BUFFERS : 0) | (explain->wal ? OPTION_WAL : 0) |
		   (explain->costs ? OPTION_COSTS : 0) | (explain->verbose ? OPTION_VERBOSE : 0) |
		   (explain->settings ? OPTION_SETTINGS : 0) |
		   (explain->summary ? OPTION_SUMMARY : 0) |
		   (explain->format << OPTION_FORMAT_SHIFT);
}

static RunExplain
options_unpack(int options)
{
	RunExplain explain = {
		.analyze = (options & OPTION_ANALYZE) != 0,
		.timing = (options & OPTION_TIMING) != 0,
		.buffers = (options & OPTION_BUFFERS) != 0,
		.wal = (options & OPTION_WAL) != 0,
		.costs = (options & OPTION_COSTS) != 0,
		.verbose = (options & OPTION_VERBOSE) != 0,
		.settings = (options & OPTION_SETTINGS) != 0,
		.summary = (options & OPTION_SUMMARY) != 0,
		.format = (options >> OPTION_FORMAT_SHIFT) & 3, /* a client may have set it */
	};

	return explain;
}

const char *
explain_request(const RunExplain *explain)
{
	return psprintf("SET LOCAL pando.explain_task = %d;", options_pack(explain));
}

const char *
explain_stop(void)
{
	return "SET LOCAL pando.explain_task = 0;";
}

const char *
explain_fetch(void)
{
	return "SELECT milliseconds, plan FROM pando.last_explain();";
}

char *
explain_options_text(const RunExplain *explain)
{
	static const char *const formats[] = {"text", "xml", "json", "yaml"};

	return psprintf("COSTS %s, VERBOSE %s, SETTINGS %s, FORMAT %s",
					explain->costs ? "on" : "off", explain->verbose ? "on" : "off",
					explain->settings ? "on" : "off", formats[explain->format]);
}

int
explain_instrument(const RunExplain *explain)
{
	if (!explain->analyze)
		return 0;
	return (explain->timing ? INSTRUMENT_TIMER : INSTRUMENT_ROWS) |
		   (explain->buffers ? INSTRUMENT_BUFFERS : 0) |
		   (explain->wal ? INSTRUMENT_WAL : 0);
}

char *
explain_query(QueryDesc *query, const RunExplain *explain, double planning,
			  double execution)
{
	ExplainState *es = NewExplainState();

	es->analyze = true;
	es->timing = explain->timing;
	es->buffers = explain->buffers;
	es->wal = explain->wal;
	es->costs = explain->costs;
	es->verbose = explain->verbose;
	es->settings = explain->settings;
	es->summary = explain->summary;
	es->format = explain->format;

	ExplainBeginOutput(es);
	ExplainOpenGroup("Query", NULL, true, es);
	ExplainPrintPlan(es, query);
	if (es->summary)
		ExplainPropertyFloat("Planning Time", "ms", planning, 3, es);
	ExplainPrintTriggers(es, query);
	if (es->costs)
		ExplainPrintJITSummary(es, query);
	if (es->summary)
		ExplainPropertyFloat("Execution Time", "ms", execution, 3, es);
	ExplainCloseGroup("Query", NULL, true, es);
	ExplainEndOutput(es);
	while (es->str->len > 0 && es->str->data[es->str->len - 1] == '\n')
		es->str->data[--es->str->len] = '\0';
	return es->str->data;
}

/* ------------------------------------------------------------------------------------
 * Hooks.
 */

static PlannedStmt *
watch_planner(Query *parse, const char *query_string, int cursor_options,
			  ParamListInfo params)
{
	PlannedStmt *result;
	instr_time start;

	if (explain_task != 0)
		INSTR_TIME_SET_CURRENT(start);
	result =
		hook_planner_next(PLANNER_EXPLAIN, parse, query_string, cursor_options, params);
	if (explain_task != 0)
		planning_ms = elapsed_ms(start);
	return result;
}

static void
watch_start(QueryDesc *query, int eflags)
{
	bool watch =
		explain_task != 0 && watched == NULL && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0;

	if (watch)
	{
		RunExplain explain = options_unpack(explain_task);

		query->instrument_options |= explain_instrument(&explain);
		INSTR_TIME_SET_CURRENT(watched_since);
	}
	hook_start_next(START_EXPLAIN, query, eflags);
	if (watch)
	{
		watched = query;
		watched_level = GetCurrentTransactionNestLevel();
		watched_planning_ms = planning_ms;
	}
}

static void
keep_plan(QueryDesc *query)
{
	RunExplain explain = options_unpack(explain_task);
	MemoryContext old = MemoryContextSwitchTo(query->estate->es_query_cxt);
	double execution_ms = elapsed_ms(watched_since);
	char *plan;

	/* A client may set it, too: the plan may have tasks, which are deparsed. */
	PushActiveSnapshot(query->estate->es_snapshot);
	plan = explain_query(query, &explain, watched_planning_ms, execution_ms);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	plan = MemoryContextStrdup(TopMemoryContext, plan);
	if (last_plan != NULL)
		pfree(last_plan);
	last_plan = plan;
	last_execution_ms = execution_ms;
}

static void
watch_end(QueryDesc *query)
{
	if (query == watched)
	{
		watched = NULL;
		if (explain_task != 0)
			keep_plan(query);
	}
	hook_end_next(END_EXPLAIN, query);
}

static void
watch_xact(XactEvent event, void *arg)
{
	watched = NULL;
}

static void
watch_subxact(SubXactEvent event, SubTransactionId mine, SubTransactionId parent,
			  void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB &&
		watched_level >= GetCurrentTransactionNestLevel())
		watched = NULL;
}

void
explain_worker_init(void)
{
	DefineCustomIntVariable("pando.explain_task",
							"EXPLAIN's options, by which this session's statements keep "
							"their plans for another node.",
							NULL, &explain_task, 0, 0, INT_MAX, PGC_USERSET,
							GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	hook_planner(PLANNER_EXPLAIN, watch_planner);
	hook_start(START_EXPLAIN, watch_start);
	hook_end(END_EXPLAIN, watch_end);
	RegisterXactCallback(watch_xact, NULL);
	RegisterSubXactCallback(watch_subxact, NULL);
}

/* pando.last_explain(): execution time and plan of the session's last watched statement.
 */
Datum
last_explain(PG_FUNCTION_ARGS)
{
	TupleDesc desc;
	Datum values[2] = {0};
	bool nulls[2] = {true, true};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (last_plan != NULL)
	{
		values[0] = Float8GetDatum(last_execution_ms);
		values[1] = CStringGetTextDatum(last_plan);
		nulls[0] = nulls[1] = false;
		pfree(last_plan);
		last_plan = NULL;
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
