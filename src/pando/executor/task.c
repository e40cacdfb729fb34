/*
 * task.c: from a fragment to its tasks: values, shard groups, placements, text.
 *
 * Values are computed once per execution. Placements come from the metadata cache, which
 * the lock on the shell tables (the plan's range table) keeps true while this runs.
 */
#include "pando/compat/compat.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/base/debug_point.h"
#include "pando/base/expr.h"
#include "pando/base/int_map.h"
#include "pando/base/literal.h"
#include "pando/base/name.h"
#include "pando/executor/call.h"
#include "pando/executor/exchange.h"
#include "pando/executor/insert_rows.h"
#include "pando/executor/lost_copy.h"
#include "pando/executor/run.h"
#include "pando/executor/scan.h"
#include "pando/executor/settings.h"
#include "pando/executor/subplan.h"
#include "pando/executor/task.h"
#include "pando/metadata/shard_relation.h"
#include "pando/transaction/xact.h"

#define MAX_PARAMS 65535 /* of a statement, by the protocol */

/* ------------------------------------------------------------------------------------
 * Values.
 */

/* A value that the scan is given; nothing is when only the plan is shown. */
static Datum
argument_value(FragmentRun *run, const Param *param, bool *isnull)
{
	int16 length;
	bool byval;
	Datum value;

	*isnull = true;
	if (run->explain_only)
		return (Datum) 0;
	value = scan_argument(run->planstate, param->paramid, isnull);
	get_typlenbyval(param->paramtype, &length, &byval);
	return *isnull ? (Datum) 0 : datumCopy(value, byval, length);
}

/* Value of an expression without Vars; it lives as long as the run. */
Datum
run_value(FragmentRun *run, Expr *expr, bool *isnull)
{
	MemoryContext old;
	Datum value;

	if (expr_value(expr, run->estate->es_param_list_info, &value, isnull))
		return value;
	old = MemoryContextSwitchTo(run->context);
	if (IsA(expr, Param))
		value = argument_value(run, (Param *) expr, isnull);
	else
		value = ExecEvalExpr(ExecInitExpr(expr, run->planstate),
							 run->planstate->ps_ExprContext, isnull);
	MemoryContextSwitchTo(old);
	return value;
}

static char *
text_of_value(const RunValues *values, int i)
{
	return literal_text(values->values[i], values->nulls[i],
						values->types[i] == UNKNOWNOID ? TEXTOID : values->types[i]);
}

void
values_texts(RunValues *values)
{
	if (values->texts != NULL)
		return;
	values->texts = palloc0(sizeof(char *) * (values->count + 1));
	for (int i = 0; i < values->count; i++)
		values->texts[i] = text_of_value(values, i);
}

/* As parameters: a bytea goes as its bytes, for twice the length might be too long. */
void
values_bind(RunValues *values, const char **bound, int *lengths)
{
	for (int i = 0; i < values->count; i++)
	{
		lengths[i] = 0;
		if (values->types[i] == BYTEAOID && !values->nulls[i])
		{
			bytea *bytes = DatumGetByteaPP(values->values[i]);

			lengths[i] = VARSIZE_ANY_EXHDR(bytes);
			bound[i] = lengths[i] > 0 ? VARDATA_ANY(bytes) : "";
		}
		else
			bound[i] =
				values->texts != NULL ? values->texts[i] : text_of_value(values, i);
	}
}

/* Bytes of the values that may be long; of rows with the same types. */
static Size
long_values_size(const RunValues *first, const List *rows)
{
	Size size = 0;

	for (int i = 0; i < first->count; i++)
	{
		if (get_typlen(first->types[i]) != -1)
			continue;
		foreach_ptr (RunValues, row, rows)
		{
			if (!row->nulls[i])
				size += toast_raw_datum_size(row->values[i]);
		}
	}
	return size;
}

/* Are the values so long that a statement should have them once at most? */
bool
values_are_bulky(RunValues *values, Size limit)
{
	return values->count > 0 && long_values_size(values, list_make1(values)) > limit;
}

/* The same of a task's own rows; then there are few enough of them to be parameters. */
bool
task_is_bulky(const FragmentRun *run, const Task *task, Size limit)
{
	const RunValues *first = task->rows != NIL ? linitial(task->rows) : NULL;

	return first != NULL &&
		   run->params.count + list_length(task->rows) * (int64) first->count <=
			   MAX_PARAMS &&
		   long_values_size(first, task->rows) > limit;
}

/* As an untyped SQL literal: what surrounds it in the template gives it its type. */
const char *
value_literal(const RunValues *values, int i)
{
	return values->texts[i] == NULL ? "NULL" : literal_quote(values->texts[i]);
}

static void
evaluate_params(FragmentRun *run)
{
	RunValues *params = &run->params;
	int n = list_length(run->fragment->params);

	params->count = 0;
	params->types = palloc(sizeof(Oid) * (n + 1));
	params->values = palloc(sizeof(Datum) * (n + 1));
	params->nulls = palloc(sizeof(bool) * (n + 1));
	params->texts = NULL;
	foreach_ptr (Expr, expr, run->fragment->params)
	{
		int i = params->count++;

		params->types[i] = exprType((Node *) expr);
		params->values[i] = run_value(run, expr, &params->nulls[i]);
	}
}

/* ------------------------------------------------------------------------------------
 * Shard groups.
 */

/* Indexes of the shard groups that hold one of the key values, ascending, once each. */
static List *
choose_by_key(FragmentRun *run)
{
	List *found = NIL;
	List *chosen = NIL;

	foreach_ptr (Expr, key, run->fragment->keys)
	{
		bool isnull;
		Datum value = run_value(run, key, &isnull);

		found = lappend_int(found, shard_index_of_value(run->anchor, value, isnull));
	}
	list_sort(found, list_int_cmp);
	foreach_int(index, found)
	{
		if (chosen == NIL || llast_int(chosen) != index)
			chosen = lappend_int(chosen, index);
	}
	return chosen;
}

Task *
task_create(FragmentRun *run, int shard_index)
{
	Task *task = palloc0(sizeof(Task));
	const Shard *shard;

	DEBUG_STEPS(1);
	task->number = list_length(run->tasks);
	task->shard_index = shard_index;
	if (run->anchor == NULL)
	{
		/* No table at all: any node will do, so this one. */
		task->local = true;
		task->node = node_local();
		return task;
	}
	shard = &run->anchor->shards[shard_index];
	task->shard_id = shard->id;
	task->nplacements = shard->nplacements;
	task->placements = shard->placements;
	if (shard->nplacements == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard " INT64_FORMAT " has no active placement", shard->id)));
	return task;
}

static void
create_tasks(FragmentRun *run)
{
	if (run->fragment->insert_columns != NIL)
	{
		insert_rows_tasks(run);
		return;
	}
	switch (run->fragment->choice)
	{
		case SHARDS_ALL:
			for (int i = 0; i < run->anchor->nshards; i++)
				run->tasks = lappend(run->tasks, task_create(run, i));
			break;
		case SHARDS_BY_KEY:
			foreach_int(index, choose_by_key(run)) run->tasks =
				lappend(run->tasks, task_create(run, index));
			break;
		case SHARDS_ANY_COPY:
		case SHARDS_ALL_COPIES:
			run->tasks = list_make1(task_create(run, 0));
			break;
		case SHARDS_BY_ROW:
			elog(ERROR, "an INSERT without rows");
	}
}

/* ------------------------------------------------------------------------------------
 * Placements of reads.
 */

static void
use_placement(Task *task, int placement)
{
	task->placement = placement;
	task->node = node_by_group(task->placements[placement].group);
	task->local = task->node->group == node_local_group();
}

static int
local_placement(const Task *task)
{
	for (int i = 0; i < task->nplacements; i++)
	{
		if (task->placements[i].group == node_local_group())
			return i;
	}
	return -1;
}

/* The one whose group has the fewest tasks so far. */
static int
least_loaded(const Task *task, IntMap *loads)
{
	int best = 0;
	intptr_t best_load = INTPTR_MAX;

	for (int i = 0; i < task->nplacements; i++)
	{
		intptr_t load = (intptr_t) *int_map_at(loads, task->placements[i].group);

		if (load < best_load)
		{
			best = i;
			best_load = load;
		}
	}
	return best;
}

/* `loads`: tasks by group, as far as placements are chosen. */
static int
choose_placement(FragmentRun *run, Task *task, IntMap *loads)
{
	static uint32 turn = 0;

	if (task->nplacements == 1 || run->fragment->first_copy)
		return 0;
	if (run->fragment->choice == SHARDS_ANY_COPY && local_placement(task) >= 0)
		return local_placement(task);
	switch ((AssignmentPolicy) executor_assignment_policy)
	{
		case ASSIGN_FIRST_REPLICA:
			return 0;
		case ASSIGN_ROUND_ROBIN:
			if (task->number == 0)
				turn++;
			return (turn + task->number) % task->nplacements;
		case ASSIGN_GREEDY:
			return least_loaded(task, loads);
	}
	return 0;
}

/* Reads have one placement each; writes begin with the first. */
static void
use_placements(FragmentRun *run)
{
	bool read = run->fragment->command == CMD_SELECT;
	IntMap *loads = int_map_create();

	foreach_ptr (Task, task, run->tasks)
	{
		intptr_t *load;

		if (task->nplacements == 0)
			continue;
		use_placement(task, read ? choose_placement(run, task, loads) : 0);
		load = (intptr_t *) int_map_at(loads, task->node->group);
		++*load;
	}
}

/* Goes on to another placement of a read; false when all have been tried. */
bool
task_next_placement(FragmentRun *run, Task *task)
{
	if (++task->tried >= task->nplacements || run->fragment->first_copy)
		return false;
	use_placement(task, (task->placement + 1) % task->nplacements);
	return true;
}

/* A write: copies that can't be reached are marked, and written no more. */
void
tasks_leave_out_lost(FragmentRun *run)
{
	Bitmapset *indexes = NULL;
	List *lost;

	foreach_ptr (Task, task, run->tasks)
	{
		if (task->nplacements > 1)
			indexes = bms_add_member(indexes, task->shard_index);
	}
	if (indexes == NULL)
		return;
	lost = lost_copies_mark(run->anchor, indexes);
	foreach_ptr (Task, task, lost == NIL ? NIL : run->tasks)
	{
		Placement *kept = palloc(sizeof(Placement) * task->nplacements);
		int nkept = 0;

		for (int i = 0; i < task->nplacements; i++)
		{
			if (!list_member_int(lost, task->placements[i].group))
				kept[nkept++] = task->placements[i];
		}
		if (nkept == 0)
			continue; /* its only copy: the write says so */
		task->placements = kept;
		task->nplacements = nkept;
		use_placement(task, 0);
	}
	bms_free(indexes);
}

/* ------------------------------------------------------------------------------------
 * Text.
 */

static char *
relation_shard_name(FragmentRun *run, Oid relid, int shard_index)
{
	const DistTable *table = dist_table_require(relid);
	int index = dist_table_is_split(table) ? shard_index : 0;

	if (dist_table_is_split(table) &&
		(run->anchor == NULL || table->nshards != run->anchor->nshards))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("tables of one query are no longer colocated"),
						errdetail("Table \"%s\" was changed.", name_qualified(relid))));
	return shard_table_name(table, table->shards[index].id);
}

/* What reads the results, by number; for tasks that run together. */
static List *
result_arguments(FragmentRun *run, List *tasks)
{
	List *arguments = NIL;

	foreach_ptr (SubResult, sub, run->fragment->subplans)
	{
		char *name = psprintf("%s%d", run->result_prefix, sub->number);
		SubRun *ran = NULL;

		foreach_ptr (SubRun, candidate, run->subruns)
		{
			if (candidate->number == sub->number)
				ran = candidate;
		}
		if (sub->exchange)
			name = exchange_files(run, sub, ran, name, tasks);
		while (list_length(arguments) < sub->number)
			arguments = lappend(arguments, NULL);
		list_nth_cell(arguments, sub->number - 1)->ptr_value = name;
	}
	return arguments;
}

/* The run's values as literals; NIL: $1.. */
static List *
param_literals(FragmentRun *run, bool inline_values)
{
	List *literals = NIL;

	if (!inline_values)
		return NIL;
	values_texts(&run->params);
	for (int i = 0; i < run->params.count; i++)
		literals = lappend(literals, (char *) value_literal(&run->params, i));
	return literals;
}

/* The task's part of a statement, with its values inline or as $1.. */
static char *
part_text(FragmentRun *run, Task *task, bool inline_values)
{
	List *names = NIL;
	char *rows = NULL;

	foreach_oid(relid, run->fragment->relations) names =
		lappend(names, relation_shard_name(run, relid, task->shard_index));
	if (run->fragment->insert_columns != NIL)
		rows = insert_rows_text(run, task, inline_values);
	return template_text(run->fragment->template, names,
						 param_literals(run, inline_values), rows,
						 result_arguments(run, list_make1(task)));
}

/* The statement for one task or several that are joined by UNION ALL. */
static char *
statement_text(FragmentRun *run, char *parts)
{
	List *around = run->fragment->per_node;

	if (around == NIL)
		return parts;
	return psprintf("%s%s%s", strVal(linitial(around)), parts, strVal(lsecond(around)));
}

/* The task's statement, with its values inline or as $1.. */
char *
task_text(FragmentRun *run, Task *task, bool inline_values)
{
	return statement_text(run, part_text(run, task, inline_values));
}

/*
 * The tasks' shards of a table as one, where a relation may stand in the text. It is a
 * query of its own, so that PostgreSQL, for each shard that it pulls up, doesn't walk
 * through those of all tables.
 */
static char *
shards_as_one(FragmentRun *run, Oid relid, List *tasks)
{
	StringInfoData text;
	const char *separator = "(SELECT * FROM (";

	initStringInfo(&text);
	foreach_ptr (Task, task, tasks)
	{
		appendStringInfo(&text, "%sSELECT * FROM %s", separator,
						 relation_shard_name(run, relid, task->shard_index));
		separator = " UNION ALL ";
	}
	appendStringInfoString(&text, ") AS shards)");
	return text.data;
}

/* SELECT * needs the right to read all columns. */
static bool
may_read_whole(List *relations)
{
	foreach_oid(relid, relations)
	{
		if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/* One query over all of the tasks' shards. */
static char *
tasks_merged(FragmentRun *run, List *tasks, bool inline_values)
{
	List *names = NIL;

	foreach_oid(relid, run->fragment->relations)
	{
		bool sharded = dist_table_is_split(dist_table_require(relid));

		names = lappend(names, sharded ? shards_as_one(run, relid, tasks)
									   : relation_shard_name(run, relid, 0));
	}
	return template_text(run->fragment->template, names,
						 param_literals(run, inline_values), NULL,
						 result_arguments(run, tasks));
}

/*
 * Reads as one statement, or a few where there are more than MAX_UNION: List of char *,
 * with values inline or as $1..
 */
List *
tasks_as_unions(FragmentRun *run, List *tasks, bool inline_values)
{
	List *result = NIL;
	StringInfoData sql;
	int count = 0;

	if (run->fragment->merges && run->fragment->template->roles == NIL &&
		list_length(tasks) > 1 && list_length(tasks) <= MAX_UNION &&
		may_read_whole(run->fragment->relations))
		return list_make1(statement_text(run, tasks_merged(run, tasks, inline_values)));
	foreach_ptr (Task, task, tasks)
	{
		char *text;

		if (list_length(tasks) == 1)
			return list_make1(task_text(run, task, inline_values));
		text = part_text(run, task, inline_values);
		if (count % MAX_UNION == 0)
			initStringInfo(&sql);
		/* What locks rows may stand in a subquery only. */
		appendStringInfo(
			&sql, run->fragment->locks ? "%s(SELECT * FROM (%s) AS locked)" : "%s(%s)",
			count % MAX_UNION == 0 ? "" : " UNION ALL ", text);
		pfree(text);
		count++;
		if (count % MAX_UNION == 0 || count == list_length(tasks))
			result = lappend(result, statement_text(run, sql.data));
	}
	return result;
}

/*
 * The tasks of each node together, in the order in which nodes occur: List of Lists, of
 * which one may be the list that was given. Raises an error if not all of the nodes can
 * be connected to.
 */
List *
tasks_by_node(List *tasks)
{
	List *nodes = NIL;
	List *lists = NIL;
	IntMap *by_group;

	if (list_length(tasks) == 1)
		return list_make1(tasks);
	by_group = int_map_create();
	foreach_ptr (Task, task, tasks)
	{
		/* From 1. */
		intptr_t *position = (intptr_t *) int_map_at(by_group, task->node->group);
		ListCell *cell;

		if (*position == 0)
		{
			nodes = lappend(nodes, unconstify(DistNode *, task->node));
			lists = lappend(lists, NIL);
			*position = list_length(nodes);
		}
		cell = list_nth_cell(lists, *position - 1);
		lfirst(cell) = lappend(lfirst(cell), task);
	}
	xact_require_sessions(nodes);
	list_free(nodes);
	return lists;
}

void
tasks_put(TaskQueue *queue, List *tasks)
{
	queue->tasks = list_concat(queue->tasks, tasks);
}

/* At most `count` of those that wait. */
List *
tasks_take(TaskQueue *queue, int count)
{
	List *taken = NIL;
	int end = queue->taken + Min(count, tasks_waiting(queue));

	DEBUG_STEPS(end - queue->taken);
	while (queue->taken < end)
		taken = lappend(taken, list_nth(queue->tasks, queue->taken++));
	if (tasks_waiting(queue) == 0)
	{
		list_free(queue->tasks);
		*queue = (TaskQueue){NIL, 0};
	}
	return taken;
}

/* Values and tasks, in the run's context; reads have their placements. */
void
run_prepare_tasks(FragmentRun *run)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);

	if (OidIsValid(run->fragment->anchor))
		run->anchor = dist_table_require(run->fragment->anchor);
	evaluate_params(run);
	create_tasks(run);
	foreach_ptr (Task, task, run->tasks)
		call_check_place(run->anchor, task->shard_index,
						 run->fragment->command != CMD_SELECT);
	use_placements(run);
	MemoryContextSwitchTo(old);
}

void
task_count(FragmentRun *run, Task *task, uint64 processed)
{
	bool differs = run->fragment->command != CMD_SELECT && task->counted &&
				   task->processed != processed;

	/* A row that another transaction changed is not there yet, or has other columns. */
	if (differs && run->fragment->by_line)
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("could not serialize access due to concurrent update"),
						errdetail("The table has several copies and no primary key."),
						errhint("Run the statement again.")));
	if (differs)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("copies of shard " INT64_FORMAT " differ", task->shard_id),
				 errdetail("The statement changed " UINT64_FORMAT
						   " rows in one copy and " UINT64_FORMAT " rows in another.",
						   task->processed, processed),
				 errhint("Another transaction may be committing a row just now: run the "
						 "statement again. If it fails again, the copies differ for "
						 "good.")));
	task->processed = processed;
	task->counted = true;
}
