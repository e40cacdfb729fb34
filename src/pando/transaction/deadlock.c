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
 * then all of them held at the moment between the two looks. And each must have lasted
 * for a while: who gives up soon what he can't have (the switch of a move does, in
 * cluster/group_lock.c) ends the cycle by himself, and nobody else need be ended.
 *
 * The coordinator looks. While it is away, the first node does that can be reached and
 * where somebody waits.
 *
 * The youngest transaction is cancelled: the one that its client began last.
 *
 * A client may wait for itself: for a lock that another of its own sessions holds, or its
 * own backend. Where that session idles in a transaction, or that backend waits for
 * nodes, neither goes on before the client's statement ends, which waits. It is believed
 * when it has lasted for a while: a statement that is a transaction of its own on a node
 * may still end the transactions that it began in turn. Where the blocker is a session
 * that waits for nodes, too, or for a lock, it depends: the client is stuck if all of its
 * waits are for its own sessions, and none of its backends anywhere does anything but
 * wait, nor has begun or ended a statement for a while.
 *
 * A cycle of waits among the same backends of one node is left to PostgreSQL, which finds
 * it there: if both ended it, two transactions would be lost.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pando/base/nap.h"
#include "pando/base/sql.h"
#include "pando/transaction/maintenance.h"
#include "pando/transaction/member.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#define LONG_AGO                                                                         \
	"(SELECT pg_catalog.clock_timestamp() - 3 * "                                        \
	"pg_catalog.current_setting('deadlock_timeout')::interval AS long_ago) now"
#define EDGE_QUERY                                                                       \
	"SELECT waiting_gpid, blocking_gpid, waiting_pid, blocking_pid, wait_start, "        \
	"(waiting_gpid = blocking_gpid AND blocking_pid <> waiting_pid AND EXISTS "          \
	"(SELECT FROM pg_catalog.pg_stat_activity a WHERE a.pid = blocking_pid AND "         \
	"(a.state LIKE 'idle in transaction%' AND a.state_change < long_ago OR "             \
	"a.wait_event_type = 'Extension' AND blocking_gpid = "                               \
	"pando.backend_gpid(a.pid, NULL)) AND wait_start < extract(epoch FROM long_ago) * "  \
	"1000000))::int, (waiting_gpid = blocking_gpid AND blocking_pid <> waiting_pid AND " \
	"wait_start < extract(epoch FROM long_ago) * 1000000)::int "                         \
	"FROM pando.wait_edges(), " LONG_AGO
#define EDGE_COLUMNS 7
/* A client's backends that may go on by themselves. */
#define MOVING_QUERY                                                                     \
	"SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity a, " LONG_AGO           \
	" WHERE pando.proven_gpid(a.pid, a.application_name, a.usesysid) = " UINT64_FORMAT   \
	" AND (a.state_change > long_ago OR a.state = 'active' AND "                         \
	"coalesce(a.wait_event_type, '') <> 'Extension' AND NOT EXISTS (SELECT FROM "        \
	"pg_catalog.pg_locks l WHERE l.pid = a.pid AND NOT l.granted AND "                   \
	"l.waitstart < long_ago))"
#define MAX_ROUNDS 64
#define LASTING_MS 900 /* longer than an attempt of group_lock.c */
#define GPID_NODE_FACTOR UINT64CONST(10000000000)

typedef struct WaitEdge
{
	uint64 waiting;
	uint64 blocking;
	int32 node_id; /* where it waits */
	int pid;	   /* the waiting backend there */
	int blocker;   /* the one that it waits for; 0: a prepared transaction */
	int64 wait_start;
	bool own; /* both are one client's, and the blocker won't go on before the waiter */
	bool maybe_own; /* both are one client's, and it has waited for a while */
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
	edge->blocker = (int) number_of(fields[3]);
	edge->wait_start = number_of(fields[4]);
	edge->own = number_of(fields[5]) != 0;
	edge->maybe_own = number_of(fields[6]) != 0;
	return edge;
}

static List *
local_edges(void)
{
	MemoryContext context = CurrentMemoryContext;
	List *edges = NIL;
	int level = sql_pin_search_path();

	SPI_connect();
	/* What this transaction has seen of the backends may be old. */
	SPI_execute("SELECT pg_catalog.pg_stat_clear_snapshot()", false, 0);
	SPI_execute(EDGE_QUERY, false, 0);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char *fields[EDGE_COLUMNS];
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
	AtEOXact_GUC(true, level);
	return edges;
}

static List *
result_edges(int32 node_id, PGresult *result)
{
	List *edges = NIL;

	for (int i = 0; i < PQntuples(result); i++)
	{
		char *fields[EDGE_COLUMNS];

		for (int column = 0; column < lengthof(fields); column++)
			fields[column] =
				PQgetisnull(result, i, column) ? NULL : session_value(result, i, column);
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

/* Is it among the edges of another look, the same wait since its start? */
static bool
is_among(const WaitEdge *wait, List *edges)
{
	foreach_ptr (WaitEdge, edge, edges)
	{
		if (edge->waiting == wait->waiting && edge->blocking == wait->blocking &&
			edge->node_id == wait->node_id && edge->pid == wait->pid &&
			edge->wait_start == wait->wait_start)
			return true;
	}
	return false;
}

/* For how long, in ms, if the node's clock is right. */
static long
age(const WaitEdge *edge)
{
	int64 epoch = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;

	return (long) ((GetCurrentTimestamp() + epoch - edge->wait_start) / 1000);
}

/* Waits that were there at both looks, and have lasted; the first look was at `since`. */
static List *
lasting_edges(List *first, List *second, TimestampTz since)
{
	bool all_lasted =
		TimestampDifferenceMilliseconds(since, GetCurrentTimestamp()) >= LASTING_MS;
	List *lasting = NIL;

	foreach_ptr (WaitEdge, edge, first)
	{
		if ((all_lasted || age(edge) >= LASTING_MS) && is_among(edge, second))
			lasting = lappend(lasting, edge);
	}
	return lasting;
}

/* Until the cycle's waits, seen at `since`, have lasted or are over: no longer than that
 * takes by this node's clock. */
static void
await_lasting(List *cycle, TimestampTz since)
{
	long left = 0;
	TimestampTz end;

	foreach_ptr (WaitEdge, edge, cycle)
		left = Max(left, LASTING_MS - age(edge));
	end = Min(TimestampTzPlusMilliseconds(GetCurrentTimestamp(), left),
			  TimestampTzPlusMilliseconds(since, LASTING_MS));
	while ((left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end)) > 0)
		nap(left);
}

/* When the transaction of a client's backend began, in microseconds; 0: not known. */
static int64
transaction_start(uint64 gpid)
{
	const DistNode *node = node_by_id((int32) (gpid / GPID_NODE_FACTOR));
	char *sql =
		psprintf("SELECT pando.transaction_start(%d)", (int) (gpid % GPID_NODE_FACTOR));
	int64 start = 0;
	PGresult *result;

	if (gpid / GPID_NODE_FACTOR == (uint64) node_local_id())
		return number_of(sql_value("%s", sql));
	if (node == NULL)
		return 0;
	result = linitial(run_quietly(list_make1((void *) node), sql, DEBUG1));
	if (result != NULL && PQntuples(result) == 1 && !PQgetisnull(result, 0, 0))
		start = number_of(session_value(result, 0, 0));
	session_result_free(result);
	return start;
}

static const WaitEdge *
choose_victim(List *cycle)
{
	const WaitEdge *victim = NULL;
	int64 latest = -1;

	foreach_ptr (WaitEdge, edge, cycle)
	{
		int64 start = transaction_start(edge->waiting);

		if (start > latest)
		{
			victim = edge;
			latest = start;
		}
	}
	return victim;
}

static char *
describe(List *cycle)
{
	StringInfoData text;

	initStringInfo(&text);
	foreach_ptr (WaitEdge, edge, cycle)
	{
		const DistNode *node = node_by_id(edge->node_id);

		if (text.len > 0)
			appendStringInfoChar(&text, '\n');
		appendStringInfo(&text,
						 "Global pid " UINT64_FORMAT
						 " waits for global pid " UINT64_FORMAT " on node %s:%d.",
						 edge->waiting, edge->blocking, node ? node->host : "?",
						 node ? node->port : 0);
	}
	return text.data;
}

static void
cancel_victim(const WaitEdge *victim, List *cycle)
{
	int32 node_id = (int32) (victim->waiting / GPID_NODE_FACTOR);
	int pid = (int) (victim->waiting % GPID_NODE_FACTOR);
	const DistNode *node = node_by_id(node_id);
	char *detail = describe(cycle);

	if (log_detection)
		ereport(LOG, (errmsg("cancelling global pid " UINT64_FORMAT
							 " to end a distributed deadlock",
							 victim->waiting),
					  errdetail_internal("%s", detail)));
	if (node_id == node_local_id())
		(void) identity_cancel_victim(pid, detail);
	else if (node != NULL)
		(void) run_quietly(list_make1((void *) node),
						   psprintf("SELECT pando.deadlock_cancel(%d, %s)", pid,
									quote_literal_cstr(detail)),
						   WARNING);
}

/* Does each of its backends wait for the next one, on one node? */
static bool
is_within_node(List *cycle)
{
	const WaitEdge *before = llast(cycle);

	foreach_ptr (WaitEdge, edge, cycle)
	{
		if (edge->node_id != before->node_id || edge->pid != before->blocker)
			return false;
		before = edge;
	}
	return true;
}

/*
 * Can none of the client's backends, on any node, go on by itself? It is asked twice: an
 * answer may have been under way between two of them.
 */
static bool
nothing_moves(uint64 gpid)
{
	char *sql = psprintf(MOVING_QUERY, gpid);

	for (int look = 0; look < 2; look++)
	{
		bool moves = false;

		foreach_ptr (PGresult, result, run_quietly(node_list(NODES_OTHER), sql, DEBUG1))
		{
			moves |= result == NULL || PQntuples(result) != 1 ||
					 number_of(PQgetvalue(result, 0, 0)) != 0;
			session_result_free(result);
		}
		sql_value("SELECT pg_catalog.pg_stat_clear_snapshot()");
		if (moves || number_of(sql_value("%s", sql)) != 0)
			return false;
	}
	return true;
}

/*
 * Finds out which clients that wait for themselves are stuck. since: before the edges
 * were collected; whoever has waited for a lock for longer is among them.
 */
static void
judge_own(List *edges, TimestampTz since)
{
	foreach_ptr (WaitEdge, edge, edges)
	{
		bool by_itself = edge->maybe_own && !edge->own;

		foreach_ptr (WaitEdge, other, edges)
		{
			if (other->waiting == edge->waiting && !other->maybe_own)
				by_itself = false;
		}
		if (by_itself && nothing_moves(edge->waiting))
			edge->own = !TimestampDifferenceExceeds(since, GetCurrentTimestamp(),
													3 * DeadlockTimeout);
	}
}

/* Looks for a cycle over several nodes; NIL: none. */
static List *
any_cycle(List *edges)
{
	foreach_ptr (WaitEdge, edge, edges)
	{
		List *dead_ends = NIL;
		List *cycle;

		if (edge->own)
			return list_make1(edge);
		cycle = find_cycle(edges, edge->waiting, edge->waiting, NIL, &dead_ends);
		if (cycle != NIL && !is_within_node(cycle))
			return cycle;
	}
	return NIL;
}

/* The graph without what a transaction waits for and who waits for it. */
static List *
without(List *edges, uint64 gpid)
{
	List *rest = NIL;

	foreach_ptr (WaitEdge, edge, edges)
	{
		if (edge->waiting != gpid && edge->blocking != gpid)
			rest = lappend(rest, edge);
	}
	return rest;
}

/* Ends all deadlocks that there are; true if there was one. */
static bool
detect(void)
{
	TimestampTz start = GetCurrentTimestamp();
	List *edges = collect_edges();
	TimestampTz since = GetCurrentTimestamp();
	List *cycle;
	bool found = false;

	judge_own(edges, start);
	cycle = any_cycle(edges);
	if (log_detection && edges != NIL)
		ereport(LOG, (errmsg("search for distributed deadlocks: %d waits, %s",
							 list_length(edges),
							 cycle != NIL ? "maybe a deadlock" : "no deadlock")));
	if (cycle == NIL)
		return false;
	await_lasting(cycle, since);
	edges = lasting_edges(edges, collect_edges(), since);
	for (int i = 0; i < MAX_ROUNDS && (cycle = any_cycle(edges)) != NIL; i++)
	{
		const WaitEdge *victim = choose_victim(cycle);

		if (victim == NULL)
			break;
		cancel_victim(victim, cycle);
		edges = without(edges, victim->waiting);
		found = true;
	}
	return found;
}

static int
detection_interval(void)
{
	return detection_factor < 0 ? -1 : (int) (detection_factor * DeadlockTimeout);
}

/* Does a backend of this server wait for a lock? A look without locks of our own: who
 * begins to wait just now is found the next time. */
static bool
anyone_waits_here(void)
{
	for (int i = 0; i < MaxBackends; i++)
	{
		if (ProcGlobal->allProcs[i].waitStatus == PROC_WAIT_STATUS_WAITING &&
			ProcGlobal->allProcs[i].pid != 0)
			return true;
	}
	return false;
}

/* Is there a node before this one that looks for deadlocks now? */
static bool
another_detects(void)
{
	List *before = NIL;
	bool found = false;
	ListCell *node_cell;
	ListCell *result_cell;
	List *results;

	foreach_ptr (DistNode, node, node_list(NODES_OTHER))
	{
		if (node->group < node_local_group())
			before = lappend(before, node);
	}
	results = run_quietly(before, "SELECT pando.anyone_waits()", DEBUG1);
	forboth(node_cell, before, result_cell, results)
	{
		const DistNode *node = lfirst(node_cell);
		PGresult *result = lfirst(result_cell);

		if (result == NULL)
			continue;
		found |=
			node->group == COORDINATOR_GROUP ||
			(PQntuples(result) == 1 && strcmp(session_value(result, 0, 0), "t") == 0);
		session_result_free(result);
	}
	return found;
}

static void
detection_run(void)
{
	if (node_list(NODES_OTHER) == NIL)
		return;
	if (node_is_coordinator() || (anyone_waits_here() && !another_detects()))
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
	PG_RETURN_BOOL(identity_cancel_victim(PG_GETARG_INT32(0),
										  text_to_cstring(PG_GETARG_TEXT_PP(1))));
}

Datum
check_distributed_deadlocks(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(detect());
}

PG_FUNCTION_INFO_V1(anyone_waits);

/* pando.anyone_waits() */
Datum
anyone_waits(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(anyone_waits_here());
}
