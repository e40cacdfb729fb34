/*
 * explain.c: what EXPLAIN says of a fragment.
 *
 * Of the tasks one is shown, or all with citus.explain_all_tasks. Its plan is the node's
 * own: with ANALYZE it came back with the task's execution, else the node is asked for it
 * now. Since tasks run before EXPLAIN's options are given to us, a utility hook notes
 * them.
 */
#include "pando/compat/compat.h"

#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "postmaster/postmaster.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pando/base/hook.h"
#include "pando/base/sql.h"
#include "pando/executor/explain.h"
#include "pando/executor/explain_worker.h"
#include "pando/executor/run.h"
#include "pando/executor/settings.h"
#include "pando/executor/subplan.h"
#include "pando/transaction/access.h"
#include "pando/transaction/xact.h"

/* ------------------------------------------------------------------------------------
 * The options of the EXPLAIN that runs.
 */

static bool active = false;
static RunExplain active_options;

static int
format_of(const char *name)
{
	if (strcmp(name, "xml") == 0)
		return EXPLAIN_FORMAT_XML;
	if (strcmp(name, "json") == 0)
		return EXPLAIN_FORMAT_JSON;
	if (strcmp(name, "yaml") == 0)
		return EXPLAIN_FORMAT_YAML;
	return EXPLAIN_FORMAT_TEXT;
}

/* The options as ExplainQuery() will understand them; it is the one to refuse bad ones.
 */
static RunExplain
options_of_statement(const ExplainStmt *stmt)
{
	RunExplain options = {.costs = true, .timing = true};
	bool summary_set = false;

	foreach_ptr (DefElem, option, stmt->options)
	{
		if (strcmp(option->defname, "analyze") == 0)
			options.analyze = defGetBoolean(option);
		else if (strcmp(option->defname, "verbose") == 0)
			options.verbose = defGetBoolean(option);
		else if (strcmp(option->defname, "costs") == 0)
			options.costs = defGetBoolean(option);
		else if (strcmp(option->defname, "buffers") == 0)
			options.buffers = defGetBoolean(option);
		else if (strcmp(option->defname, "wal") == 0)
			options.wal = defGetBoolean(option);
		else if (strcmp(option->defname, "settings") == 0)
			options.settings = defGetBoolean(option);
		else if (strcmp(option->defname, "timing") == 0)
			options.timing = defGetBoolean(option);
		else if (strcmp(option->defname, "summary") == 0)
		{
			options.summary = defGetBoolean(option);
			summary_set = true;
		}
		else if (strcmp(option->defname, "format") == 0)
			options.format = format_of(defGetString(option));
	}
	if (!summary_set)
		options.summary = options.analyze;
	return options;
}

static void
explain_utility(PlannedStmt *pstmt, const char *text, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	bool outer_active = active;
	RunExplain outer = active_options;

	if (!IsA(pstmt->utilityStmt, ExplainStmt))
	{
		hook_utility_next(UTILITY_EXPLAIN, pstmt, text, read_only_tree, context, params,
						  environment, dest, qc);
		return;
	}
	active_options = options_of_statement((ExplainStmt *) pstmt->utilityStmt);
	active = plan_explained = true;
	PG_TRY();
	{
		hook_utility_next(UTILITY_EXPLAIN, pstmt, text, read_only_tree, context, params,
						  environment, dest, qc);
	}
	PG_FINALLY();
	{
		active = plan_explained = outer_active;
		active_options = outer;
	}
	PG_END_TRY();
}

RunExplain
explain_options(PlanState *planstate)
{
	RunExplain none = {0};

	/* Others who instrument, such as auto_explain, do not get the tasks' plans. */
	if (!active || planstate->state->es_instrument == 0)
		return none;
	return active_options;
}

void
explain_init(void)
{
	hook_utility(UTILITY_EXPLAIN, explain_utility);
}

/* ------------------------------------------------------------------------------------
 * Output.
 */

static void
indent_text(ExplainState *es)
{
	appendStringInfoSpaces(es->str, es->indent * 2);
}

/* Opens an item of a list: "->  label" in text. */
static void
open_item(ExplainState *es, const char *group, const char *label)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		indent_text(es);
		appendStringInfo(es->str, "->  %s\n", label);
		es->indent += 3;
	}
	else
		ExplainOpenGroup(group, NULL, true, es);
}

static void
close_item(ExplainState *es, const char *group)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
		es->indent -= 3;
	else
		ExplainCloseGroup(group, NULL, true, es);
}

static void
append_bytes(ExplainState *es, const char *label, uint64 bytes)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText(label, psprintf(UINT64_FORMAT " bytes", bytes), es);
	else
		ExplainPropertyUInteger(label, "bytes", bytes, es);
}

/* A node's plan in text: its top is an item, what follows belongs to it. */
static void
append_plan_text(ExplainState *es, const char *plan)
{
	bool first = true;

	while (*plan != '\0')
	{
		int length = strcspn(plan, "\n");

		indent_text(es);
		appendStringInfo(es->str, "%s%.*s\n", first ? "->  " : "    ", length, plan);
		first = false;
		plan += length + (plan[length] == '\n');
	}
}

/* The other formats: the node's output as a value of this one. */
static void
append_plan_structured(ExplainState *es, const char *plan)
{
	const char *label = "Remote Plan";
	bool lead = es->format != EXPLAIN_FORMAT_XML;

	ExplainOpenGroup(label, label, false, es);
	while (*plan != '\0')
	{
		int length = strcspn(plan, "\n");

		if (lead)
			appendStringInfoChar(es->str, '\n');
		indent_text(es);
		appendBinaryStringInfo(es->str, plan, length);
		if (!lead)
			appendStringInfoChar(es->str, '\n');
		plan += length + (plan[length] == '\n');
	}
	if (lead)
		linitial_int(es->grouping_stack) = 1;
	ExplainCloseGroup(label, label, false, es);
}

/* ------------------------------------------------------------------------------------
 * Tasks.
 */

/* Asks a node for the plan of a statement that is not run. */
static char *
plan_from_node(const DistNode *node, const char *sql, List *roles)
{
	Session *session = xact_session(node, roles != NIL ? XACT_READ : XACT_READ_ALONE);
	PGresult *result;
	StringInfoData plan;

	if (roles != NIL)
		sql = access_sign(session, roles, sql);
	result = session_run(session, sql);

	initStringInfo(&plan);
	for (int i = 0; i < PQntuples(result); i++)
		appendStringInfo(&plan, "%s%s", i > 0 ? "\n" : "", session_value(result, i, 0));
	session_result_free(result);
	return plan.data;
}

static char *
plan_from_here(const char *sql, List *roles)
{
	StringInfoData plan;
	AccessHere before = access_here((AccessHere){.sql = sql, .roles = roles});
	List *lines;

	PG_TRY();
	{
		lines = sql_column_as_is(sql);
	}
	PG_FINALLY();
	{
		(void) access_here(before);
	}
	PG_END_TRY();

	initStringInfo(&plan);
	foreach_ptr (char, line, lines)
		appendStringInfo(&plan, "%s%s", plan.len > 0 ? "\n" : "", line);
	return plan.data;
}

static char *
task_plan(FragmentRun *run, Task *task, ExplainState *es)
{
	RunExplain options = {.costs = es->costs,
						  .verbose = es->verbose,
						  .settings = es->settings,
						  .format = es->format};
	char *sql;

	/* Only a client's EXPLAIN is worth asking nodes; auto_explain must not disturb. */
	if (task->plan != NULL || (es->analyze && !run->sends) || !active ||
		!executor_explain_tasks)
		return task->plan;
	sql = psprintf("EXPLAIN (%s) %s", explain_options_text(&options),
				   task_text(run, task, true));
	return task->local ? plan_from_here(sql, run->fragment->template->roles)
					   : plan_from_node(task->node, sql, run->fragment->template->roles);
}

static char *
node_text(const Task *task)
{
	const DistNode *node = task->node;

	return psprintf("host=%s port=%d dbname=%s", node ? node->host : "localhost",
					node ? node->port : PostPortNumber, get_database_name(MyDatabaseId));
}

static void
explain_task_item(FragmentRun *run, Task *task, ExplainState *es)
{
	char *plan = task_plan(run, task, es);

	open_item(es, "Task", "Task");
	if (es->verbose)
		ExplainPropertyText("Query", task_text(run, task, true), es);
	if (run->explain.analyze)
		append_bytes(es, "Tuple data received from node", task->bytes);
	ExplainPropertyText("Node", node_text(task), es);
	if (plan != NULL && es->format == EXPLAIN_FORMAT_TEXT)
		append_plan_text(es, plan);
	else if (plan != NULL)
		append_plan_structured(es, plan);
	close_item(es, "Task");
}

static int
compare_tasks(const ListCell *a, const ListCell *b)
{
	const Task *x = lfirst(a);
	const Task *y = lfirst(b);

	if (executor_explain_sort == EXPLAIN_SORT_TIME && x->milliseconds != y->milliseconds)
		return x->milliseconds > y->milliseconds ? -1 : 1;
	return x->number - y->number;
}

static void
explain_tasks(FragmentRun *run, ExplainState *es)
{
	int ntasks = list_length(run->tasks);
	bool all = ntasks <= 1 || executor_explain_all_tasks;
	uint64 bytes = 0;
	List *tasks = list_copy(run->tasks);

	list_sort(tasks, compare_tasks);
	foreach_ptr (Task, task, tasks)
		bytes += task->bytes;
	ExplainPropertyInteger("Task Count", NULL, ntasks, es);
	if (run->explain.analyze)
		append_bytes(es, "Tuple data received from nodes", bytes);
	ExplainPropertyText("Tasks Shown", all ? "All" : psprintf("One of %d", ntasks), es);
	ExplainOpenGroup("Tasks", "Tasks", false, es);
	foreach_ptr (Task, task, tasks)
	{
		explain_task_item(run, task, es);
		if (!all)
			break;
	}
	ExplainCloseGroup("Tasks", "Tasks", false, es);
}

/* ------------------------------------------------------------------------------------
 * Subplans.
 */

/* The plan of another statement within this one's output. */
static void
explain_nested_plan(QueryDesc *query, ExplainState *es)
{
	ExplainState outer = *es;

	es->printed_subplans = NULL;
	ExplainPrintPlan(es, query);
	es->pstmt = outer.pstmt;
	es->rtable = outer.rtable;
	es->rtable_names = outer.rtable_names;
	es->deparse_cxt = outer.deparse_cxt;
	es->printed_subplans = outer.printed_subplans;
	es->hide_workers = outer.hide_workers;
	es->workers_state = outer.workers_state;
}

void
explain_step(const char *name, QueryDesc *query, ExplainState *es)
{
	open_item(es, "Step", psprintf("Step %s", name));
	if (es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText("Step Name", name, es);
	ExplainOpenGroup("PlannedStmt", "PlannedStmt", false, es);
	ExplainOpenGroup("PlannedStmt", NULL, true, es);
	explain_nested_plan(query, es);
	ExplainCloseGroup("PlannedStmt", NULL, true, es);
	ExplainCloseGroup("PlannedStmt", "PlannedStmt", false, es);
	close_item(es, "Step");
}

static void
explain_exchange(const SubResult *sub, ExplainState *es)
{
	TargetEntry *column;

	if (sub->column == 0)
	{
		ExplainPropertyText("Exchange", "Broadcast", es);
		return;
	}
	column = list_nth(sub->plan->planTree->targetlist, sub->column - 1);
	ExplainPropertyText("Exchange", "Redistribute", es);
	ExplainPropertyText("Hash Key", column->resname ? column->resname : "?column?", es);
}

static void
explain_subplan(FragmentRun *run, const SubResult *sub, const SubRun *ran,
				ExplainState *es)
{
	QueryDesc *query = ran ? ran->query : NULL;

	open_item(es, "Distributed Subplan",
			  psprintf("Distributed Subplan %u_%d", run->plan_id, sub->number));
	if (sub->exchange)
		explain_exchange(sub, es);
	if (ran != NULL && run->explain.analyze)
	{
		if (sub->exchange)
			ExplainPropertyUInteger("Exchanged Rows", NULL, ran->rows, es);
		ExplainPropertyFloat("Subplan Duration", "ms", ran->milliseconds, 2, es);
		ExplainPropertyText("Intermediate Data Size",
							TextDatumGetCString(DirectFunctionCall1(
								pg_size_pretty, Int64GetDatum((int64) ran->bytes))),
							es);
		ExplainPropertyText("Result destination",
							ran->nremote == 0
								? "Write locally"
								: psprintf("Send to %d nodes", ran->nremote),
							es);
	}
	ExplainOpenGroup("PlannedStmt", "PlannedStmt", false, es);
	ExplainOpenGroup("PlannedStmt", NULL, true, es);
	if (query == NULL)
		query = subplan_query(run->estate, sub->plan, None_Receiver, 0,
							  EXEC_FLAG_EXPLAIN_ONLY);
	explain_nested_plan(query, es);
	if (ran != NULL && es->summary)
	{
		ExplainPropertyFloat("Planning Time", "ms", 0.0, 3, es);
		ExplainPropertyFloat("Execution Time", "ms", ran->milliseconds, 3, es);
	}
	if (ran == NULL || ran->query == NULL)
		subplan_query_end(query);
	ExplainCloseGroup("PlannedStmt", NULL, true, es);
	ExplainCloseGroup("PlannedStmt", "PlannedStmt", false, es);
	close_item(es, "Distributed Subplan");
}

static void
explain_subplans(FragmentRun *run, ExplainState *es)
{
	if (run->fragment->subplans == NIL)
		return;
	ExplainOpenGroup("Subplans", "Subplans", false, es);
	foreach_ptr (SubResult, sub, run->fragment->subplans)
	{
		SubRun *ran = NULL;

		foreach_ptr (SubRun, candidate, run->subruns)
		{
			if (candidate->number == sub->number)
				ran = candidate;
		}
		explain_subplan(run, sub, ran, es);
	}
	ExplainCloseGroup("Subplans", "Subplans", false, es);
}

void
explain_fragment(PlanState *planstate, Fragment *fragment, FragmentRun *run,
				 ExplainState *es)
{
	bool created = run == NULL;
	bool ended = !ActiveSnapshotSet();

	/* auto_explain asks when the statement has ended. */
	if (ended)
		PushActiveSnapshot(planstate->state->es_snapshot);
	if (created)
	{
		run = run_create(planstate, fragment, false, NULL);
		run->explain_only = true;
		run_prepare_tasks(run);
		if (fragment->subplans != NIL)
			subplans_name(run);
	}
	if (fragment->order != NIL)
		ExplainPropertyText("Sort Key", fragment_order_text(fragment, true), es);
	explain_subplans(run, es);
	explain_tasks(run, es);
	if (created)
		run_end(run, false);
	if (ended)
		PopActiveSnapshot();
}
