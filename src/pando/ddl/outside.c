/*
 * outside.c: commands that each node runs outside a transaction (see outside.h).
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "tcop/utility.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pando/base/int_map.h"
#include "pando/ddl/outside.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

typedef struct OutsideNode
{
	int32 group;
	List *commands; /* char * */
} OutsideNode;

struct OutsideWork
{
	MemoryContext context;
	const char *hint;
	List *nodes; /* OutsideNode * */
	IntMap *by_group;
};

/* Memory that outlives the transactions that the commands make. */
OutsideWork *
outside_begin(const char *hint)
{
	MemoryContext context = AllocSetContextCreate(
		PortalContext != NULL ? PortalContext : TopTransactionContext,
		"pando outside work", ALLOCSET_SMALL_SIZES);
	OutsideWork *work = MemoryContextAllocZero(context, sizeof(OutsideWork));
	MemoryContext old = CurrentMemoryContext;

	work->context = context;
	MemoryContextSwitchTo(context);
	work->by_group = int_map_create();
	MemoryContextSwitchTo(old);
	work->hint = hint != NULL ? MemoryContextStrdup(context, hint) : NULL;
	return work;
}

static OutsideNode *
outside_node(OutsideWork *work, int32 group)
{
	OutsideNode **node = (OutsideNode **) int_map_at(work->by_group, group);

	if (*node == NULL)
	{
		*node = palloc0(sizeof(OutsideNode));
		(*node)->group = group;
		work->nodes = lappend(work->nodes, *node);
	}
	return *node;
}

void
outside_add(OutsideWork *work, int32 group, const char *command)
{
	MemoryContext old = MemoryContextSwitchTo(work->context);
	OutsideNode *node = outside_node(work, group);

	node->commands = lappend(node->commands, pstrdup(command));
	MemoryContextSwitchTo(old);
}

void
outside_on_other_nodes(OutsideWork *work, const char *command)
{
	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
		outside_add(work, node->group, command);
}

List *
outside_shards(OutsideWork *work, Oid relid)
{
	const DistTable *table = dist_table_require(relid);
	List *shards = NIL;
	MemoryContext old;

	if (table->kind == TABLE_MANAGED_LOCAL)
		return NIL; /* it is its own shard */
	old = MemoryContextSwitchTo(work->context);
	for (int i = 0; i < table->nshards; i++)
	{
		for (int j = 0; j < table->shards[i].nplacements; j++)
		{
			OutsideShard *shard = palloc0(sizeof(OutsideShard));

			shard->map.relid = relid;
			shard->map.shard_id = table->shards[i].id;
			shard->group = table->shards[i].placements[j].group;
			shards = lappend(shards, shard);
		}
	}
	MemoryContextSwitchTo(old);
	return shards;
}

/* Adds the hint to whatever error is being raised. */
static void
outside_error_callback(void *arg)
{
	OutsideWork *work = arg;

	if (geterrcode() != 0 && work->hint != NULL)
		errhint("%s", work->hint);
}

/* Ends the transaction, with what it did on other nodes, and begins another one. */
void
outside_commit(void)
{
	if (ActiveSnapshotSet())
		PopActiveSnapshot();
	CommitTransactionCommand();
	StartTransactionCommand();
}

/* A statement and the text it is from. */
typedef struct StatementHere
{
	PlannedStmt *stmt;
	const char *text;
} StatementHere;

/*
 * By PostgreSQL alone: to the hooks of other libraries a statement of the top level
 * within another one is a mistake (pgaudit), or the client's (pg_stat_statements).
 */
static void
run_at_top(void *arg)
{
	StatementHere *here = arg;

	standard_ProcessUtility(here->stmt, here->text, false, PROCESS_UTILITY_TOPLEVEL, NULL,
							NULL, None_Receiver, NULL);
}

/*
 * One command in this backend, as if a client had sent it: in a transaction of its own,
 * with a snapshot. The command may end that transaction and begin another one.
 */
static void
outside_run_here(OutsideWork *work, const char *command)
{
	outside_commit();
	MemoryContextSwitchTo(work->context);

	foreach_ptr (Node, stmt, shard_parse(command))
	{
		StatementHere here = {utility_wrap(stmt), command};

		PushActiveSnapshot(GetTransactionSnapshot());
		utility_apply_call(run_at_top, &here);
		if (ActiveSnapshotSet())
			PopActiveSnapshot();
	}
}

/* The n-th command of each of the other nodes; false when there is none left. */
static bool
outside_run_round(OutsideWork *work, int round)
{
	List *nodes = NIL;
	List *commands = NIL;

	foreach_ptr (OutsideNode, node, work->nodes)
	{
		if (node->group == node_local_group() || round >= list_length(node->commands))
			continue;
		nodes = lappend(nodes, (void *) node_by_group(node->group));
		commands = lappend(commands, list_nth(node->commands, round));
	}
	if (nodes != NIL)
		xact_run_outside(nodes, commands);
	return nodes != NIL;
}

/* Calls a function with the work's memory; errors get the hint. */
static void
with_hint(OutsideWork *work, void (*function)(OutsideWork *work, void *arg), void *arg)
{
	ErrorContextCallback callback = {.callback = outside_error_callback, .arg = work};
	MemoryContext old = MemoryContextSwitchTo(work->context);

	callback.previous = error_context_stack;
	error_context_stack = &callback;
	function(work, arg);
	error_context_stack = callback.previous;
	MemoryContextSwitchTo(old);
}

static void
run_commands(OutsideWork *work, void *arg)
{
	for (int round = 0; outside_run_round(work, round); round++)
		CHECK_FOR_INTERRUPTS();
	foreach_ptr (OutsideNode, node, work->nodes)
	{
		if (node->group != node_local_group())
			continue;
		foreach_ptr (char, command, node->commands)
			outside_run_here(work, command);
	}
}

void
outside_run(OutsideWork *work)
{
	with_hint(work, run_commands, NULL);
}

static void
run_shell(OutsideWork *work, void *job)
{
	outside_commit();
	MemoryContextSwitchTo(work->context);
	PushActiveSnapshot(GetTransactionSnapshot());
	job_run_shell(job);
	if (ActiveSnapshotSet())
		PopActiveSnapshot();
}

void
outside_run_shell(OutsideWork *work, DdlJob *job)
{
	with_hint(work, run_shell, job);
}
