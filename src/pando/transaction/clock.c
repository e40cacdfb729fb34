/*
 * clock.c: the cluster's clock: a time that never goes back and never comes twice on a
 * node, and that is later than whatever a transaction has seen on others.
 *
 * It is the server's time in milliseconds, with a counter for what happens in the same
 * one. Nodes that take part in a transaction are set to the latest of their clocks when
 * the transaction asks for it, so one that comes after it, on any of them, gets a later
 * time. It starts with the server's time when the server starts.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "pando/base/shared_memory.h"
#include "pando/transaction/member.h"

PG_FUNCTION_INFO_V1(clock_tick);
PG_FUNCTION_INFO_V1(clock_transaction);
PG_FUNCTION_INFO_V1(clock_advance);

typedef struct ClusterClock
{
	int64 ms; /* since 1970 */
	int64 counter;
} ClusterClock;

static ClusterClock *shared = NULL;
static LWLock *shared_lock = NULL;

static void
clock_attach(void *memory, LWLock *lock, bool fresh)
{
	shared = memory;
	shared_lock = lock;
}

static bool
is_later(ClusterClock a, ClusterClock b)
{
	return a.ms != b.ms ? a.ms > b.ms : a.counter > b.counter;
}

static int64
now_ms(void)
{
	return GetCurrentTimestamp() / 1000 +
		   (int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * 1000;
}

/* A time later than all that this node has given, and not before that one. */
static ClusterClock
tick(ClusterClock least)
{
	ClusterClock now = {now_ms(), 0};

	LWLockAcquire(shared_lock, LW_EXCLUSIVE);
	if (!is_later(now, *shared))
		now = (ClusterClock){shared->ms, shared->counter + 1};
	if (is_later(least, now))
		now = least;
	*shared = now;
	LWLockRelease(shared_lock);
	return now;
}

static Datum
clock_datum(ClusterClock clock)
{
	Datum parts[2] = {Int64GetDatum(clock.ms), Int64GetDatum(clock.counter)};

	return PointerGetDatum(construct_array(parts, 2, INT8OID, sizeof(int64),
										   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* clock_tick(): this node's next time */
Datum
clock_tick(PG_FUNCTION_ARGS)
{
	return clock_datum(tick((ClusterClock){0}));
}

/* clock_advance(ms, counter): no time before that one is given any more; nodes only */
Datum
clock_advance(PG_FUNCTION_ARGS)
{
	xact_require_node("pando.clock_advance()");
	(void) tick((ClusterClock){PG_GETARG_INT64(0), PG_GETARG_INT64(1)});
	PG_RETURN_VOID();
}

/* The other nodes that take part in the transaction. */
static List *
nodes_of_transaction(void)
{
	List *nodes = NIL;

	foreach_ptr (DistNode, node, node_list(NODES_OTHER))
	{
		if (member_has_begun(node->group))
			nodes = lappend(nodes, node);
	}
	return nodes;
}

/* clock_transaction(): the next time on all nodes that take part in the transaction */
Datum
clock_transaction(PG_FUNCTION_ARGS)
{
	ClusterClock latest = tick((ClusterClock){0});
	List *nodes = nodes_of_transaction();

	foreach_ptr (DistNode, node, nodes)
	{
		char *text = xact_value_from_node(node, "SELECT pando.clock_tick()");
		ClusterClock there = {0};

		if (text == NULL || sscanf(text, "{" INT64_FORMAT "," INT64_FORMAT "}", &there.ms,
								   &there.counter) != 2)
			ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
							errmsg("node %s:%d has no clock", node->host, node->port)));
		if (is_later(there, latest))
			latest = there;
	}
	if (nodes != NIL)
	{
		latest = tick(latest);
		xact_tell_nodes(nodes, psprintf("SELECT pando.clock_advance(" INT64_FORMAT
										", " INT64_FORMAT ")",
										latest.ms, latest.counter));
	}
	return clock_datum(latest);
}

void
clock_init(void)
{
	static const SharedMemory piece = {
		.name = "pando_clock", .size = sizeof(ClusterClock), .attach = clock_attach};

	shared_memory_register(&piece);
}
