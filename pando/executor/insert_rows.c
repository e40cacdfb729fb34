/*
 * insert_rows.c: INSERT ... VALUES on a sharded table: each row goes where its key says.
 *
 * Rows are evaluated here, volatile functions once per row, in the statement's order. A
 * shard gets one INSERT with all of its rows. A single row travels as parameters after
 * the fragment's own, so that its statement reads the same every time.
 */
#include "pando/compat/compat.h"

#include "access/relation.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

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

static void
pg_attribute_noreturn() raise_null_key(FragmentRun *run)
{
	Oid relid = run->anchor->relid;
	Relation relation = relation_open(relid, NoLock);
	char *column = get_attname(relid, run->anchor->key, false);

	ereport(ERROR,
			(errcode(ERRCODE_NOT_NULL_VIOLATION),
			 errmsg("null value in column \"%s\" of relation \"%s\" violates not-null "
					"constraint",
					column, RelationGetRelationName(relation)),
			 errdetail("The distribution column decides where a row is stored."),
			 errtablecol(relation, run->anchor->key)));
}

static int
shard_index_of_row(FragmentRun *run, const RunValues *row, int key)
{
	if (run->anchor->kind != TABLE_HASH)
		return 0;
	if (key < 0 || row->nulls[key])
	{
		if (run->explain_only)
			return 0;
		raise_null_key(run);
	}
	return shard_index_of_value(run->anchor, row->values[key]);
}

void
insert_rows_tasks(FragmentRun *run)
{
	int key = run->anchor->kind == TABLE_HASH ? key_position(run) : -1;
	Task **by_shard = palloc0(sizeof(Task *) * run->anchor->nshards);
	int number = 0;

	foreach_ptr (List, exprs, run->fragment->insert_rows)
	{
		RunValues *row = evaluate_row(run, exprs);
		int index = shard_index_of_row(run, row, key);
		Task *task = by_shard[index];

		if (task == NULL)
		{
			task = by_shard[index] = task_create(run, index);
			run->tasks = lappend(run->tasks, task);
		}
		task->rows = lappend(task->rows, row);
		task->row_numbers = lappend_int(task->row_numbers, number++);
	}
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

/* What stands after VALUES. Several rows always have their values inline. */
char *
insert_rows_text(FragmentRun *run, Task *task, bool inline_values)
{
	StringInfoData text;
	bool first = true;

	initStringInfo(&text);
	foreach_ptr (RunValues, row, task->rows)
	{
		if (inline_values)
			values_texts(row);
		if (!first)
			appendStringInfoString(&text, ", ");
		append_row(&text, row, run->params.count + 1, inline_values);
		first = false;
	}
	return text.data;
}
