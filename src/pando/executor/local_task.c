/*
 * local_task.c: tasks on this node's own placements.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "pando/executor/explain_worker.h"
#include "pando/executor/local_task.h"
#include "pando/executor/run.h"
#include "pando/executor/task.h"

/* The fragment's values and the rows', for $1.. */
static ParamListInfo
task_params(FragmentRun *run, Task *task, Oid **types)
{
	List *sets = lcons(&run->params, list_copy(task->rows));
	int count = 0;
	ParamListInfo params;
	int n = 0;

	foreach_ptr (RunValues, set, sets)
		count += set->count;
	params = makeParamList(count);
	*types = palloc(sizeof(Oid) * (count + 1));
	foreach_ptr (RunValues, set, sets)
	{
		for (int i = 0; i < set->count; i++, n++)
		{
			ParamExternData *param = &params->params[n];

			param->ptype = set->types[i];
			param->value = set->values[i];
			param->isnull = set->nulls[i];
			param->pflags = PARAM_FLAG_CONST;
			if (param->ptype == UNKNOWNOID)
			{
				/* The template casts it from text. */
				param->ptype = TEXTOID;
				if (!param->isnull)
					param->value = CStringGetTextDatum(DatumGetCString(param->value));
			}
			(*types)[n] = param->ptype;
		}
	}
	return params;
}

/* The planner's costs of this node's tasks that are worth one plan for all of them, which
 * PostgreSQL may spread over cores. */
#define TOGETHER_COST_MIN (10 * parallel_setup_cost)
#define MAX_TOGETHER 500

/* How many of the run's local tasks, which only read, had better be one statement. */
int
local_tasks_together(FragmentRun *run)
{
	int count = tasks_waiting(&run->local_tasks);
	Cost cost = run->fragment->cost * count / list_length(run->tasks);

	if (count < 2 || run->explain.analyze || run->fragment->locks ||
		values_are_bulky(&run->params, BULKY) || max_parallel_workers_per_gather == 0 ||
		(cost < TOGETHER_COST_MIN && run->fragment->spread != SPREAD_UNKNOWN))
		return 1;
	return Min(count, MAX_TOGETHER);
}

/* Those tasks, as one query. */
LocalQuery *
tasks_open_local(FragmentRun *run, List *tasks)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);
	ResourceOwner owner = CurrentResourceOwner;
	LocalQuery *query;

	CurrentResourceOwner = run->owner;
	query = local_open(linitial(tasks_as_unions(run, tasks, true)), 0, NULL, NULL, false,
					   0, run->fragment->template->roles);
	CurrentResourceOwner = owner;
	MemoryContextSwitchTo(old);
	return query;
}

LocalQuery *
task_open_local(FragmentRun *run, Task *task, bool write)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);
	ResourceOwner owner = CurrentResourceOwner;
	bool inline_values = list_length(task->rows) > 1 && !task_is_bulky(run, task, BULKY);
	Oid *types = NULL;
	ParamListInfo params = NULL;
	LocalQuery *query;
	char *text = task_text(run, task, inline_values);

	if (!inline_values)
		params = task_params(run, task, &types);
	CurrentResourceOwner = run->owner;
	query = local_open(text, params ? params->numParams : 0, types, params, write,
					   explain_instrument(&run->explain), run->fragment->template->roles);
	CurrentResourceOwner = owner;
	MemoryContextSwitchTo(old);
	return query;
}

void
task_close_local(FragmentRun *run, Task *task, LocalQuery *query)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);

	local_finish(query);
	task_count(run, task, local_processed(query));
	if (run->explain.analyze)
	{
		task->milliseconds = local_execution_ms(query);
		task->plan = explain_query(local_query_desc(query), &run->explain,
								   local_planning_ms(query), task->milliseconds);
	}
	local_close(query);
	MemoryContextSwitchTo(old);
}
