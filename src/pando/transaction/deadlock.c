/*
 * deadlock.c: waits between backends over all nodes, and deadlocks among them.
 *
 * Each node tells which of its backends wait for which (pando.wait_edges). A backend that
 * serves a session of another node counts as the client's backend there: both have the
 * same global pid. So the edges of all nodes make one graph of clients' transactions; a
 * cycle in it is a deadlock that no node sees alone.
 *
 * The nodes are asked one after the other in time, so a cycle may be a mirage. It is
 * believed when a second look finds each of its waits again, the same since its start:
 * then all of them held at the moment between the two looks.
 *
 * The youngest transaction is cancelled, of those that wait on another node than their
 * own if there are such, since they can say "deadlock" as the reason.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pando/base/sql.h"
#include "pando/transaction/maintenance.h"
#include "pando/transaction/member.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#define EDGE_QUERY                                                                       \
	"SELECT waiting_gpid, blocking_gpid, waiting_pid, "                                  \
	"(extract(epoch FROM wait_start) * 1000000)::bigint, "                               \
	"(extract(epoch FROM xact_start) * 1000000)::bigint FROM pando.wait_edges()"
#define GPID_NODE_FACTOR UINT64CONST(10000000000)

typedef struct WaitEdge
{
	uint64 waiting;
	uint64 blocking;
	int32 node_id; /* where it waits */
	int pid;	   /* the waiting backend there */
	int64 wait_start;
	int64 xact_start;
} WaitEdge;

static double detection_factor = 2.0;
static bool log_detection = false;

static int64
number_of(const char *text)
{
	return text ? strtoll(text, NULL, 10) : 0;
}

static WaitEdge *
make_edge(int32 node_id, char *const *fields)
{
	WaitEdge *edge = palloc(sizeof(WaitEdge));

	edge->waiting = strtoull(fields[0], NULL, 10);
	edge->blocking = strtoull(fields[1], NULL, 10);
	edge->node_id = node_id;
	edge->pid = (int) number_of(fields[2]);
	edge->wait_start = number_of(fields[3]);
	edge->xact_start = number_of(fields[4]);
	return edge;
}

static List *
local_edges(void)
{
	MemoryContext context = CurrentMemoryContext;
	List *edges = NIL;

	SPI_connect();
	/* What this transaction has seen of the backends may be old. */
	SPI_execute("SELECT pg_catalog.pg_stat_clear_snapshot()", false, 0);
	SPI_execute(EDGE_QUERY, false, 0);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char *fields[5];
		MemoryContext old;

		for (int column = 0; column < lengthof(fields); column++)
			fields[column] =
				SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, column + 1);
		if (fields[0] == NULL || fields[1] == NULL)
			continue;
		old = MemoryContextSwitchTo(context);
		edges = lappend(edges, make_edge(node_local_id(), fields));
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	return edges;
}

static List *
result_edges(int32 node_id, PGresult *result)
{
	List *edges = NIL;

	for (int i = 0; i < PQntuples(result); i++)
	{
		char *fields[5];

		for (int column = 0; column < lengthof(fields); column++)
			fields[column] =
				PQgetisnull(result, i, column) ? NULL : PQgetvalue(result, i, column);
		if (fields[0] != NULL && fields[1] != NULL)
			edges = lappend(edges, make_edge(node_id, fields));
	}
	return edges;
}

/* Waits of all nodes that can be asked: List of WaitEdge *. */
static List *
collect_edges(void)
{
	List *nodes = node_list(NODES_OTHER);
	List *results = run_quietly(nodes, EDGE_QUERY, DEBUG1);
	List *edges = local_edges();
	ListCell *node_cell;
	ListCell *result_cell;

	forboth(node_cell, nodes, result_cell, results)
	{
		PGresult *result = lfirst(result_cell);

		if (result == NULL)
			continue;
		edges = list_concat(
			edges, result_edges(((const DistNode *) lfirst(node_cell))->id, result));
		session_result_free(result);
	}
	return edges;
}

static bool
path_has(List *path, uint64 gpid)
{
	foreach_ptr (WaitEdge, edge, path)
	{
		if (edge->waiting == gpid)
			return true;
	}
	return false;
}

/*
 * Follows waits from the end of the path; returns the edges of a cycle through `start`,
 * NIL if there is none. dead_ends: transactions known to lead nowhere (List of uint64 *).
 */
static List *
find_cycle(List *edges, uint64 start, uint64 from, List *path, List **dead_ends)
{
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	foreach_ptr (uint64, dead, *dead_ends)
	{
		if (*dead == from)
			return NIL;
	}
	foreach_ptr (WaitEdge, edge, edges)
	{
		List *longer;
		List *cycle;

		if (edge->waiting != from || edge->blocking == from)
			continue;
		longer = lappend(list_copy(path), edge);
		if (edge->blocking == start)
			return longer;
		if (path_has(longer, edge->blocking))
			continue;
		cycle = find_cycle(edges, start, edge->blocking, longer, dead_ends);
		if (cycle != NIL)
			return cycle;
	}
	{
		uint64 *dead = palloc(sizeof(uint64));

		*dead = from;
		*dead_ends = lappend(*dead_ends, dead);
	}
	return NIL;
}

/* Are all waits of the cycle among the edges of a later look, unchanged? */
static bool
still_waits(List *cycle, List *edges)
{
	foreach_ptr (WaitEdge, wait, cycle)
	{
		bool found = false;

		foreach_ptr (WaitEdge, edge, edges)
		{
			if (edge->waiting == wait->waiting && edge->blocking == wait->blocking &&
				edge->node_id == wait->node_id && edge->pid == wait->pid &&
				edge->wait_start == wait->wait_start)
				found = true;
		}
		if (!found)
			return false;
	}
	return true;
}

/* Waits on another node than its client's? */
static bool
waits_remotely(const WaitEdge *edge)
{
	return edge->waiting / GPID_NODE_FACTOR != (uint64) edge->node_id;
}

static const WaitEdge *
choose_victim(List *cycle)
{
	const WaitEdge *victim = NULL;

	foreach_ptr (WaitEdge, edge, cycle)
	{
		if (victim == NULL || (waits_remotely(edge) && !waits_remotely(victim)) ||
			(waits_remotely(edge) == waits_remotely(victim) &&
			 edge->xact_start > victim->xact_start))
			victim = edge;
	}
	return victim;
}

static void
cancel_victim(const WaitEdge *victim)
{
	int32 node_id = (int32) (victim->waiting / GPID_NODE_FACTOR);
	int pid = (int) (victim->waiting % GPID_NODE_FACTOR);
	const DistNode *node = node_by_id(node_id);
	char sql[64];

	if (log_detection)
		ereport(LOG, (errmsg("cancelling global pid " UINT64_FORMAT
							 " to end a distributed deadlock",
							 victim->waiting)));
	if (node_id == node_local_id())
	{
		(void) identity_cancel_victim(pid);
		return;
	}
	if (node == NULL)
		return;
	snprintf(sql, sizeof(sql), "SELECT pando.deadlock_cancel(%d)", pid);
	(void) run_quietly(list_make1((void *) node), sql, WARNING);
}

/* Looks for a cycle in the graph of all nodes; NIL: none. */
static List *
any_cycle(List *edges)
{
	foreach_ptr (WaitEdge, edge, edges)
	{
		List *dead_ends = NIL;
		List *cycle = find_cycle(edges, edge->waiting, edge->waiting, NIL, &dead_ends);

		if (cycle != NIL)
			return cycle;
	}
	return NIL;
}

/* One deadlock is found and ended per call. */
static bool
detect(void)
{
	List *cycle = any_cycle(collect_edges());

	if (cycle == NIL || !still_waits(cycle, collect_edges()))
		return false;
	cancel_victim(choose_victim(cycle));
	return true;
}

static int
detection_interval(void)
{
	return detection_factor < 0 ? -1 : (int) (detection_factor * DeadlockTimeout);
}

static void
detection_run(void)
{
	if (node_is_coordinator() && list_length(node_list(NODES_OTHER)) > 0)
		(void) detect();
}

void
deadlock_init(void)
{
	static const MaintenanceJob detection = {
		.name = "distributed deadlock detection",
		.interval = detection_interval,
		.run = detection_run,
	};

	DefineCustomRealVariable(
		"citus.distributed_deadlock_detection_factor",
		"Sets after how many times deadlock_timeout deadlocks between nodes are sought.",
		"-1 switches it off.", &detection_factor, 2.0, -1.0, 1000.0, PGC_SIGHUP, 0, NULL,
		NULL, NULL);
	DefineCustomBoolVariable("citus.log_distributed_deadlock_detection",
							 "Logs what the search for deadlocks between nodes does.",
							 NULL, &log_detection, false, PGC_SIGHUP, 0, NULL, NULL,
							 NULL);
	maintenance_register(&detection);
}

PG_FUNCTION_INFO_V1(deadlock_cancel);
PG_FUNCTION_INFO_V1(check_distributed_deadlocks);

Datum
deadlock_cancel(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(identity_cancel_victim(PG_GETARG_INT32(0)));
}

Datum
check_distributed_deadlocks(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(detect());
}
