/*
 * subplan.c: plans whose rows become intermediate results before a fragment's tasks run.
 *
 * A subplan runs to its end into a file of this node; then the file is sent to the other
 * nodes that will read it. That way a subplan may use the same sessions as the sending.
 * Names are <global pid>_<plan>_<subplan>: unique in the cluster as long as the files
 * live.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pando/base/int_map.h"
#include "pando/executor/exchange.h"
#include "pando/executor/explain_worker.h"
#include "pando/executor/found_rows.h"
#include "pando/executor/intermediate.h"
#include "pando/executor/run.h"
#include "pando/executor/settings.h"
#include "pando/executor/subplan.h"
#include "pando/transaction/xact.h"

void
subplans_name(FragmentRun *run)
{
	static uint32 plans = 0;
	MemoryContext old = MemoryContextSwitchTo(run->context);

	run->plan_id = ++plans;
	run->result_prefix = psprintf(UINT64_FORMAT "_%u_", xact_global_pid(), run->plan_id);
	MemoryContextSwitchTo(old);
}

QueryDesc *
subplan_query(EState *estate, PlannedStmt *plan, DestReceiver *dest, int instrument,
			  int eflags)
{
	QueryDesc *query;

	/* The statement's own, unless it has changed something since. */
	if (GetActiveSnapshot()->curcid == GetCurrentCommandId(false))
		PushActiveSnapshot(GetActiveSnapshot());
	else
	{
		PushCopiedSnapshot(GetActiveSnapshot());
		UpdateActiveSnapshotCommandId();
	}
	query = CreateQueryDesc(plan, estate->es_sourceText, GetActiveSnapshot(),
							InvalidSnapshot, dest, estate->es_param_list_info,
							estate->es_queryEnv, instrument);
	ExecutorStart(query, eflags);
	PopActiveSnapshot();
	return query;
}

void
subplan_query_end(QueryDesc *query)
{
	ExecutorEnd(query);
	FreeQueryDesc(query);
}

void
subplan_query_run(QueryDesc *query)
{
	PushActiveSnapshot(query->snapshot);
	ExecutorRun(query, ForwardScanDirection, 0, true);
	ExecutorFinish(query);
	PopActiveSnapshot();
	if (query->operation != CMD_SELECT || query->plannedstmt->hasModifyingCTE)
		CommandCounterIncrement();
}

/* The nodes on which tasks will read; *here is set when this one is among them. */
static List *
reading_nodes(FragmentRun *run, bool *here)
{
	List *nodes = NIL;
	IntMap *seen = int_map_create();
	bool write = run->fragment->command != CMD_SELECT;

	*here = false;
	foreach_ptr (Task, task, run->tasks)
	{
		for (int i = 0; i < task->nplacements; i++)
		{
			int32 group = task->placements[i].group;

			if (!write && i != task->placement)
				continue;
			if (group == node_local_group())
				*here = true;
			else if (int_map_first(seen, group))
				nodes = lappend(nodes, unconstify(DistNode *, node_by_group(group)));
		}
		if (task->nplacements == 0)
			*here = true;
	}
	return nodes;
}

static void
report_result(const char *name, List *nodes, bool here)
{
	if (!executor_log_results)
		return;
	if (here)
		ereport(DEBUG1,
				(errmsg_internal("Subplan %s will be written to local file", name)));
	foreach_ptr (const DistNode, node, nodes)
	{
		ereport(DEBUG1, (errmsg_internal("Subplan %s will be sent to %s:%d", name,
										 node->host, node->port)));
	}
}

/* The rows go into a file of this node, which is sent to the others. */
static void
broadcast_run(FragmentRun *run, const SubResult *sub, QueryDesc *query, SubRun *ran,
			  List *nodes, bool here)
{
	char *name = psprintf("%s%d", run->result_prefix, sub->number);
	DestReceiver *writer = result_writer_create(name);

	query->dest = writer;
	subplan_query_run(query);
	report_result(name, nodes, here);
	result_send(name, nodes);
	if (!here)
		result_remove(name);
	ran->bytes = result_writer_bytes(writer);
	ran->rows = result_writer_rows(writer);
	ran->nremote = list_length(nodes);
}

static void
run_subplan(FragmentRun *run, const SubResult *sub, List *nodes, bool here)
{
	SubRun *ran = palloc0(sizeof(SubRun));
	QueryDesc *query;
	instr_time start;

	INSTR_TIME_SET_CURRENT(start);
	query = subplan_query(run->estate, sub->plan, None_Receiver,
						  explain_instrument(&run->explain), 0);
	ran->number = sub->number;
	if (sub->exchange)
		exchange_run(run, sub, query, ran);
	else
		broadcast_run(run, sub, query, ran, nodes, here);
	ran->milliseconds = elapsed_ms(start);
	if (run->explain.analyze)
		ran->query = query;
	else
		subplan_query_end(query);
	run->subruns = lappend(run->subruns, ran);
}

/*
 * Between its statements a READ COMMITTED transaction has no snapshot on the node, and
 * without one the place of a row that is deleted meanwhile may become another row's. An
 * open cursor has one. (This backend has the statement's.)
 */
static void
keep_places(FragmentRun *run, List *nodes)
{
	xact_run_on_nodes(nodes,
					  psprintf("DECLARE pando_%u CURSOR FOR SELECT", run->plan_id));
	run->places_kept = nodes;
}

void
subplans_let_places_go(FragmentRun *run)
{
	if (run->places_kept != NIL)
		xact_run_on_nodes(run->places_kept, psprintf("CLOSE pando_%u", run->plan_id));
	run->places_kept = NIL;
}

static void
run_all(void *arg)
{
	FragmentRun *run = arg;
	bool here;
	List *nodes = reading_nodes(run, &here);

	subplans_name(run);
	if (run->fragment->by_ctid && !IsolationUsesXactSnapshot())
		keep_places(run, nodes);
	foreach_ptr (SubResult, sub, run->fragment->subplans)
		run_subplan(run, sub, nodes, here);
}

void
subplans_run(FragmentRun *run)
{
	CmdType command = run->fragment->command;
	List *changes = command == CMD_UPDATE || command == CMD_DELETE
						? list_make1_oid(run->fragment->anchor)
						: NIL;

	found_rows_keep(changes, run_all, run);
}

void
subplans_end(FragmentRun *run)
{
	foreach_ptr (SubRun, ran, run->subruns)
	{
		if (ran->query != NULL)
			subplan_query_end(ran->query);
		ran->query = NULL;
	}
}
