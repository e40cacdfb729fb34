/*
 * lock_rows.c: the plan node "Citus Lock Rows": rows of shards locked at their places.
 *
 * The child's rows name the places (plan/row_place.h) of the rows that they were made of,
 * read without locks. The node takes as many as are wanted, locks them with one statement
 * per node, node by node in the order of groups so that everybody comes the same way, and
 * hands them on when all are locked. A place that could not be locked means
 *
 *   SKIP LOCKED   the row is left out, and the child's next one is taken;
 *   otherwise     the row was changed after it was read, and we have waited for that: all
 *                 is forgotten and the child read anew, as of now. What is locked stays
 *                 locked, so the same rows can't change again. But a function that
 *                 the child calls may change them whenever it is read: an error.
 *
 * In REPEATABLE READ the node raises the serialization failure itself.
 *
 * With SKIP LOCKED and LIMIT tasks offer more rows than are wanted, by the factor of
 * pando.lock_reach(). Where that wasn't enough the factor grows and all is read anew.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/executor/lock_rows.h"
#include "pando/executor/spill.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"
#include "pando/plan/row_place.h"
#include "pando/transaction/access.h"
#include "pando/transaction/xact.h"

/* Rows locked together. */
#define BATCH 1000

/* Rows that tasks offer for each that is wanted, at first and when that was too few. */
#define FIRST_REACH 4
#define REACH_GROWTH 16

/* "shard id (block,offset) xmin own" */
#define PLACE_SIZE 64

/* A row that is there, and can't be locked, so many times over is a bug. */
#define MAX_FAILURES 5

PG_FUNCTION_INFO_V1(lock_reach);

static int64 reach = FIRST_REACH;

typedef struct Target
{
	int column; /* of the child's rows, from 1 */
	LockClauseStrength strength;
	LockWaitPolicy wait;
	Oid role; /* whose rights it is locked with; InvalidOid: the user's */
} Target;

typedef struct LockedPlace
{
	char place[PLACE_SIZE]; /* key */
	bool locked;
	int failures;
} LockedPlace;

typedef struct LockRowsScan
{
	CustomScanState css;
	List *targets; /* Target * */
	int restart;   /* parameter whose change makes the child start anew */
	ExprState *count;
	ExprState *offset;

	bool done;
	bool started; /* the child has been read before */
	bool again;	  /* it is read as of now, for rows were changed */
	int64 wanted; /* -1: all */
	Tuplestorestate *store;
	TupleTableSlot *store_slot;
	HTAB *places; /* LockedPlace: asked for in this execution */
	MemoryContext batch_context;
} LockRowsScan;

/* A row of the child with the places that it names, one per target. */
typedef struct Candidate
{
	MinimalTuple row;
	List *places; /* char *, NULL: nothing to be locked */
} Candidate;

Datum
lock_reach(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(reach);
}

/* ------------------------------------------------------------------------------------
 * One statement per node.
 */

static const char *
clause(const Target *target, const char *alias)
{
	static const char *const strengths[] = {"", "KEY SHARE", "SHARE", "NO KEY UPDATE",
											"UPDATE"};
	static const char *const waits[] = {"", " SKIP LOCKED", " NOWAIT"};

	return psprintf("FOR %s OF %s%s", strengths[target->strength], alias,
					waits[target->wait]);
}

/* What is to be locked of one shard. */
typedef struct ShardBatch
{
	int64 shard_id;
	const DistTable *table;
	const DistNode *node; /* of the first copy */
	const Target *target;
	List *tids; /* char * */
} ShardBatch;

static ShardBatch *
batch_of_shard(List **batches, int64 shard_id, const Target *target)
{
	ShardBatch *batch;
	const Shard *shard;

	foreach_ptr (ShardBatch, known, *batches)
	{
		if (known->shard_id == shard_id && known->target == target)
			return known;
	}
	batch = palloc0(sizeof(ShardBatch));
	batch->shard_id = shard_id;
	batch->target = target;
	shard = shard_by_id(shard_id, &batch->table);
	if (shard == NULL || shard->nplacements == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard " INT64_FORMAT " has no active placement", shard_id)));
	batch->node = node_by_group(shard->placements[0].group);
	*batches = lappend(*batches, batch);
	return batch;
}

static int
compare_batches(const ListCell *a, const ListCell *b)
{
	const ShardBatch *x = lfirst(a);
	const ShardBatch *y = lfirst(b);

	if (x->node->group != y->node->group)
		return x->node->group < y->node->group ? -1 : 1;
	return x->shard_id < y->shard_id ? -1 : x->shard_id > y->shard_id;
}

/* Rights to a partitioned table, which have been checked, are rights to its partitions.
 */
static Oid
role_of_batch(const ShardBatch *batch)
{
	Oid relid = batch->table->relid;

	return get_rel_relispartition(relid) ? relation_owner(relid) : batch->target->role;
}

/* roles: those whose rights the statement uses. */
static void
append_batch(StringInfo sql, const ShardBatch *batch, List **roles)
{
	Oid role = role_of_batch(batch);
	const char *alias = "t";
	bool first = true;

	if (OidIsValid(role))
	{
		alias = psprintf(ACCESS_ALIAS "%d_t", list_length(*roles));
		*roles = lappend_oid(*roles, role);
	}
	/* A signature tells the node that the columns that he named have been checked. */
	else if (access_is_by_columns(batch->table->relid, ACL_SELECT))
		*roles = lappend_oid(*roles, GetUserId());
	appendStringInfo(sql,
					 "%sSELECT p FROM (SELECT pando.row_place(%s.tableoid, %s.ctid, "
					 "%s.xmin) AS p FROM ONLY %s %s WHERE %s.ctid "
					 "OPERATOR(pg_catalog.=) ANY ('{",
					 sql->len > 0 ? " UNION ALL " : "", alias, alias, alias,
					 shard_table_name(batch->table, batch->shard_id), alias, alias);
	foreach_ptr (char, tid, batch->tids)
	{
		appendStringInfo(sql, "%s\"%s\"", first ? "" : ",", tid);
		first = false;
	}
	appendStringInfo(sql, "}'::pg_catalog.tid[]) %s) q", clause(batch->target, alias));
}

static char *
value_from_here(const char *sql, List *roles)
{
	AccessHere before = access_here((AccessHere){.sql = sql, .roles = roles});
	char *value;

	PG_TRY();
	{
		value = sql_value_as_is(sql);
	}
	PG_FINALLY();
	{
		(void) access_here(before);
	}
	PG_END_TRY();
	return value;
}

char *
value_with_locks(const DistNode *node, const char *sql, List *roles)
{
	Session *session;
	PGresult *result;
	char *value = NULL;

	if (node->group == node_local_group())
		return value_from_here(sql, roles);
	session = xact_session(node, XACT_LOCK);
	if (roles != NIL)
		sql = access_sign(session, roles, sql);
	result = session_run(session, sql);
	if (PQntuples(result) > 0 && !PQgetisnull(result, 0, 0))
		value = pstrdup(session_value(result, 0, 0));
	session_result_free(result);
	return value;
}

static void
take_locked(LockRowsScan *scan, char *places)
{
	char *rest = places;
	char *place;

	while (places != NULL && (place = strsep(&rest, ";")) != NULL)
	{
		LockedPlace *entry = hash_search(scan->places, place, HASH_FIND, NULL);

		if (entry != NULL)
			entry->locked = true;
	}
}

/* Asks the nodes; what is locked is marked in scan->places. */
static void
lock_batches(LockRowsScan *scan, List *batches)
{
	StringInfoData sql;
	List *roles = NIL;
	ListCell *cell;

	initStringInfo(&sql);
	list_sort(batches, compare_batches);
	foreach (cell, batches)
	{
		ShardBatch *batch = lfirst(cell);
		ListCell *next = lnext(batches, cell);

		append_batch(&sql, batch, &roles);
		if (next != NULL &&
			((ShardBatch *) lfirst(next))->node->group == batch->node->group)
			continue;
		take_locked(scan,
					value_with_locks(batch->node,
									 psprintf("SELECT pg_catalog.string_agg(p, ';') "
											  "FROM (%s) u",
											  sql.data),
									 roles));
		resetStringInfo(&sql);
		roles = NIL;
	}
}

/* ------------------------------------------------------------------------------------
 * Batches of rows.
 */

static LockedPlace *
place_entry(LockRowsScan *scan, const char *place)
{
	bool found;
	LockedPlace *entry = hash_search(scan->places, place, HASH_ENTER, &found);

	if (!found)
	{
		entry->locked = false;
		entry->failures = 0;
	}
	return entry;
}

static char *
place_in_row(const Target *target, TupleTableSlot *slot)
{
	bool isnull;
	Datum value = slot_getattr(slot, target->column, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

/* Reads up to `count` rows; fewer when the child has no more. */
static List *
read_candidates(LockRowsScan *scan, int64 count)
{
	List *candidates = NIL;

	while (list_length(candidates) < count)
	{
		TupleTableSlot *slot;
		Candidate *candidate;
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		/* Nodes below make what they keep in the context that they are called in. */
		old = MemoryContextSwitchTo(scan->css.ss.ps.state->es_query_cxt);
		slot = ExecProcNode(outerPlanState(scan));
		MemoryContextSwitchTo(old);
		if (TupIsNull(slot))
			break;
		candidate = palloc0(sizeof(Candidate));
		candidate->row = ExecCopySlotMinimalTuple(slot);
		foreach_ptr (Target, target, scan->targets)
			candidate->places = lappend(candidate->places, place_in_row(target, slot));
		candidates = lappend(candidates, candidate);
	}
	return candidates;
}

static void
lock_candidates(LockRowsScan *scan, List *candidates)
{
	List *batches = NIL;

	foreach_ptr (Candidate, candidate, candidates)
	{
		ListCell *place;
		ListCell *target;

		forboth(place, candidate->places, target, scan->targets)
		{
			ShardBatch *batch;

			if (lfirst(place) == NULL || place_entry(scan, lfirst(place))->locked)
				continue;
			batch =
				batch_of_shard(&batches, row_place_shard(lfirst(place)), lfirst(target));
			batch->tids = lappend(batch->tids, row_place_tid(lfirst(place)));
		}
	}
	if (batches != NIL)
		lock_batches(scan, batches);
}

typedef enum Outcome
{
	ROW_LOCKED,
	ROW_SKIPPED,
	ROW_CHANGED
} Outcome;

static Outcome
outcome_of(LockRowsScan *scan, const Candidate *candidate)
{
	Outcome outcome = ROW_LOCKED;
	ListCell *place;
	ListCell *target;

	forboth(place, candidate->places, target, scan->targets)
	{
		LockedPlace *entry;

		if (lfirst(place) == NULL)
			continue;
		entry = place_entry(scan, lfirst(place));
		if (entry->locked)
			continue;
		if (((Target *) lfirst(target))->wait == LockWaitSkip)
			return ROW_SKIPPED;
		/* Who but this transaction can have changed what it wrote? */
		if (scan->again && row_place_is_own(entry->place))
			ereport(ERROR,
					(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
					 errmsg("row to be locked was already modified by an operation "
							"triggered by the current command"),
					 errdetail("It is in shard " INT64_FORMAT ".",
							   row_place_shard(entry->place))));
		if (++entry->failures > MAX_FAILURES)
			ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
							errmsg("a row that is to be locked can be read, but not "
								   "locked"),
							errdetail("It is at %s.", entry->place)));
		outcome = ROW_CHANGED;
	}
	return outcome;
}

/* Locks as many rows as are wanted; false: all must be read anew. */
static bool
collect(LockRowsScan *scan)
{
	int64 kept = 0;
	int64 seen = 0;
	bool changed = false;

	tuplestore_clear(scan->store);
	while (scan->wanted < 0 || kept < scan->wanted)
	{
		int64 count = scan->wanted < 0 ? BATCH : Min(BATCH, scan->wanted - kept);
		MemoryContext old = MemoryContextSwitchTo(scan->batch_context);
		List *candidates = read_candidates(scan, count);
		bool exhausted = list_length(candidates) < count;

		seen += list_length(candidates);
		lock_candidates(scan, candidates);
		foreach_ptr (Candidate, candidate, candidates)
		{
			Outcome outcome = outcome_of(scan, candidate);

			if (outcome == ROW_CHANGED)
				changed = true;
			if (outcome != ROW_LOCKED || changed)
				continue;
			ExecForceStoreMinimalTuple(candidate->row, scan->store_slot, false);
			tuplestore_puttupleslot(scan->store, scan->store_slot);
			kept++;
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(scan->batch_context);
		if (changed)
			return false;
		if (exhausted)
		{
			/* Some task may have had more to offer. */
			if (scan->wanted < 0 || seen / reach < scan->wanted)
				return true;
			reach *= REACH_GROWTH;
			return false;
		}
	}
	return true;
}

/* ------------------------------------------------------------------------------------
 * The node.
 */

static int64
limit_value(LockRowsScan *scan, ExprState *state, int64 otherwise)
{
	bool isnull;
	Datum value;

	if (state == NULL)
		return otherwise;
	value = ExecEvalExprSwitchContext(state, scan->css.ss.ps.ps_ExprContext, &isnull);
	return isnull ? otherwise : DatumGetInt64(value);
}

/* Rows that the LIMIT above will ask for; what is wrong with it, it says itself. */
static int64
rows_wanted(LockRowsScan *scan)
{
	int64 count = limit_value(scan, scan->count, -1);
	int64 offset = limit_value(scan, scan->offset, 0);

	if (count < 0 || offset < 0 || count > PG_INT64_MAX - offset)
		return -1;
	return count + offset;
}

static void
read_child_anew(LockRowsScan *scan)
{
	PlanState *rows = outerPlanState(scan);

	/* Of LockRows' plan all scans depend on it. */
	outerPlanState(rows)->chgParam =
		bms_add_member(outerPlanState(rows)->chgParam, scan->restart);
	ExecReScan(rows);
}

static void
lock_rows(LockRowsScan *scan)
{
	HASHCTL info = {.keysize = PLACE_SIZE, .entrysize = sizeof(LockedPlace)};
	EState *estate = scan->css.ss.ps.state;
	int64 outer_reach = reach;
	bool complete = false;

	scan->wanted = rows_wanted(scan);
	info.hcxt = estate->es_query_cxt;
	scan->places =
		hash_create("places of rows", 64, &info, HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	reach = FIRST_REACH;
	PG_TRY();
	{
		for (scan->again = false; !complete; scan->again = true)
		{
			bool fresh = scan->again && !IsolationUsesXactSnapshot();

			if (scan->started)
				read_child_anew(scan);
			scan->started = true;
			/* Shards on this node are to be read as of now, too. */
			if (fresh)
				PushActiveSnapshot(GetTransactionSnapshot());
			complete = collect(scan);
			if (fresh)
				PopActiveSnapshot();
		}
	}
	PG_FINALLY();
	{
		reach = outer_reach;
	}
	PG_END_TRY();
	hash_destroy(scan->places);
	scan->places = NULL;
}

static TupleTableSlot *
next(ScanState *node)
{
	LockRowsScan *scan = (LockRowsScan *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	if (!scan->done)
	{
		lock_rows(scan);
		scan->done = true;
	}
	ExecClearTuple(slot);
	if (!tuplestore_gettupleslot(scan->store, true, false, scan->store_slot))
		return slot;
	return row_as_virtual(scan->store_slot, slot);
}

/* Second looks are the core's LockRows' business, which is below. */
static bool
recheck(ScanState *node, TupleTableSlot *slot)
{
	elog(ERROR, "rows locked on shards can't be looked at again");
	return false;
}

static TupleTableSlot *
exec(CustomScanState *node)
{
	return ExecScan(&node->ss, next, recheck);
}

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	LockRowsScan *scan = (LockRowsScan *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	MemoryContext old;

	outerPlanState(scan) = ExecInitNode(outerPlan(plan), estate, 0);
	scan->restart = linitial_int((List *) lsecond(plan->custom_private));
	foreach_ptr (List, numbers, linitial(plan->custom_private))
	{
		Target *target = palloc(sizeof(Target));

		target->column = linitial_int(numbers);
		target->strength = (LockClauseStrength) lsecond_int(numbers);
		target->wait = (LockWaitPolicy) lthird_int(numbers);
		target->role = (Oid) lfourth_int(numbers);
		scan->targets = lappend(scan->targets, target);
	}
	if (plan->custom_exprs != NIL)
		scan->count = ExecInitExpr(linitial(plan->custom_exprs), &node->ss.ps);
	if (list_length(plan->custom_exprs) > 1)
		scan->offset = ExecInitExpr(lsecond(plan->custom_exprs), &node->ss.ps);
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	scan->batch_context = AllocSetContextCreate(estate->es_query_cxt, "rows to be locked",
												ALLOCSET_DEFAULT_SIZES);
	scan->store = tuplestore_begin_heap(false, false, work_mem);
	tuplestore_set_eflags(scan->store, EXEC_FLAG_REWIND);
	scan->store_slot = MakeSingleTupleTableSlot(
		node->ss.ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(old);
}

static void
end(CustomScanState *node)
{
	LockRowsScan *scan = (LockRowsScan *) node;

	ExecDropSingleTupleTableSlot(scan->store_slot);
	tuplestore_end(scan->store);
	ExecEndNode(outerPlanState(scan));
}

/* The same rows again, unless what they depend on has changed. */
static void
rescan(CustomScanState *node)
{
	LockRowsScan *scan = (LockRowsScan *) node;

	ExecScanReScan(&node->ss);
	if (!scan->done)
		return;
	if (node->ss.ps.chgParam == NULL)
		tuplestore_rescan(scan->store);
	else
		scan->done = false;
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Citus Lock Rows",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
};

void
lock_rows_register(void)
{
	plan_register_kind(PLAN_LOCK_ROWS, sizeof(LockRowsScan), &exec_methods);
}
