/*
 * insert_rows.c: INSERT ... VALUES on a sharded table: each row goes where its key says.
 *
 * Rows are evaluated here, volatile functions once per row, in the statement's order. A
 * shard gets one INSERT with all of its rows. A single row travels as parameters after
 * the fragment's own, so that its statement reads the same every time; so do long ones.
 */
#include "pando/compat/compat.h"

#include "access/relation.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/base/int_map.h"
#include "pando/executor/insert_rows.h"
#include "pando/executor/run.h"

/* Without execution (EXPLAIN) volatile functions must not be called. */
static Datum
row_value(FragmentRun *run, Expr *expr, bool *isnull)
{
	if (run->explain_only && contain_volatile_functions((Node *) expr))
	{
		*isnull = true;
		return (Datum) 0;
	}
	return run_value(run, expr, isnull);
}

static RunValues *
evaluate_row(FragmentRun *run, List *exprs)
{
	RunValues *row = palloc0(sizeof(RunValues));
	int n = list_length(exprs);

	row->types = palloc(sizeof(Oid) * (n + 1));
	row->values = palloc(sizeof(Datum) * (n + 1));
	row->nulls = palloc(sizeof(bool) * (n + 1));
	foreach_ptr (Expr, expr, exprs)
	{
		int i = row->count++;

		row->types[i] = exprType((Node *) expr);
		row->values[i] = row_value(run, expr, &row->nulls[i]);
	}
	return row;
}

/* Position of the distribution column among the columns given, -1 if it is left out. */
static int
key_position(FragmentRun *run)
{
	int position = 0;

	foreach_int(column, run->fragment->insert_columns)
	{
		if (column == run->anchor->key)
			return position;
		position++;
	}
	return -1;
}

static int
shard_index_of_row(FragmentRun *run, const RunValues *row, int key)
{
	if (!dist_table_is_split(run->anchor))
		return 0;
	if (key < 0)
		return shard_index_for_row(run->anchor, (Datum) 0, true);
	return shard_index_for_row(run->anchor, row->values[key], row->nulls[key]);
}

typedef struct RowRouter
{
	FragmentRun *run;
	int key;		  /* position of the distribution column, -1: none */
	IntMap *by_shard; /* Task * */
	int number;		  /* of the next row */
} RowRouter;

static void
route_row(RowRouter *router, RunValues *row)
{
	FragmentRun *run = router->run;
	int index = shard_index_of_row(run, row, router->key);
	Task **at = (Task **) int_map_at(router->by_shard, index);
	Task *task = *at;

	if (task == NULL)
	{
		*at = task = task_create(run, index);
		run->tasks = lappend(run->tasks, task);
	}
	task->rows = lappend(task->rows, row);
	task->row_numbers = lappend_int(task->row_numbers, router->number++);
}

/* A row that the child plan has yielded, without what it only sorts by. */
static RunValues *
copy_row(const TupleTableSlot *slot, List *tlist)
{
	RunValues *row = palloc0(sizeof(RunValues));
	int n = list_length(tlist);

	row->types = palloc(sizeof(Oid) * (n + 1));
	row->values = palloc(sizeof(Datum) * (n + 1));
	row->nulls = palloc(sizeof(bool) * (n + 1));
	foreach_ptr (TargetEntry, tle, tlist)
	{
		Form_pg_attribute attr = TupleDescAttr(slot->tts_tupleDescriptor, tle->resno - 1);
		int i = row->count;

		if (tle->resjunk)
			continue;
		row->types[i] = attr->atttypid;
		row->nulls[i] = slot->tts_isnull[tle->resno - 1];
		row->values[i] = row->nulls[i] ? (Datum) 0
									   : datumCopy(slot->tts_values[tle->resno - 1],
												   attr->attbyval, attr->attlen);
		row->count++;
	}
	return row;
}

/* EXPLAIN shows a statement; what rows there are is not known. */
static RunValues *
unknown_row(List *tlist)
{
	RunValues *row = palloc0(sizeof(RunValues));
	int n = list_length(tlist);

	row->types = palloc(sizeof(Oid) * (n + 1));
	row->values = palloc0(sizeof(Datum) * (n + 1));
	row->nulls = palloc(sizeof(bool) * (n + 1));
	foreach_ptr (TargetEntry, tle, tlist)
	{
		if (tle->resjunk)
			continue;
		row->types[row->count] = exprType((Node *) tle->expr);
		row->nulls[row->count++] = true;
	}
	return row;
}

static void
route_child_rows(RowRouter *router, PlanState *child)
{
	FragmentRun *run = router->run;
	TupleTableSlot *slot;

	if (run->explain_only)
	{
		route_row(router, unknown_row(child->plan->targetlist));
		return;
	}
	for (;;)
	{
		MemoryContext old = MemoryContextSwitchTo(run->estate->es_query_cxt);

		slot = ExecProcNode(child);
		MemoryContextSwitchTo(old);
		if (TupIsNull(slot))
			break;
		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		route_row(router, copy_row(slot, child->plan->targetlist));
	}
}

void
insert_rows_tasks(FragmentRun *run)
{
	RowRouter router = {.run = run};

	router.key = AttributeNumberIsValid(run->anchor->key) ? key_position(run) : -1;
	router.by_shard = int_map_create();
	foreach_ptr (List, exprs, run->fragment->insert_rows)
	{
		route_row(&router, evaluate_row(run, exprs));
	}
	if (run->fragment->insert_rows == NIL)
		route_child_rows(&router,
						 linitial(((CustomScanState *) run->planstate)->custom_ps));
}

static void
append_row(StringInfo out, const RunValues *row, int first_param, bool inline_values)
{
	appendStringInfoChar(out, '(');
	for (int i = 0; i < row->count; i++)
	{
		if (i > 0)
			appendStringInfoString(out, ", ");
		if (inline_values)
			appendStringInfoString(out, value_literal(row, i));
		else
			appendStringInfo(out, "$%d", first_param + i);
	}
	appendStringInfoChar(out, ')');
}

/* What stands after VALUES. */
char *
insert_rows_text(FragmentRun *run, Task *task, bool inline_values)
{
	StringInfoData text;
	int param = run->params.count + 1;
	bool first = true;

	initStringInfo(&text);
	foreach_ptr (RunValues, row, task->rows)
	{
		if (inline_values)
			values_texts(row);
		if (!first)
			appendStringInfoString(&text, ", ");
		append_row(&text, row, param, inline_values);
		param += row->count;
		first = false;
	}
	return text.data;
}
