/*
 * kept_rows.c: rows that deferred triggers are given when PostgreSQL fires them.
 *
 * PostgreSQL's queue of AFTER triggers knows where the trigger's rows are, and fetches
 * them from the table when it fires: at the end of the statement, at SET CONSTRAINTS or
 * at COMMIT. The rows of a distributed table are not in its shell, and may be gone by
 * then. So they are kept here, in a tuplestore of the transaction's, and what the queue
 * has for places (ctids) are their numbers in it.
 *
 * To fetch them from there, the shell's descriptor in PostgreSQL's relation cache is
 * *held* while the transaction may have triggers of it to fire: its access method is
 * replaced by a copy that differs in how a row is fetched by its place, which nobody else
 * does with a shell. A reference keeps the descriptor where it is; when the cache loads
 * it anew after an invalidation, the access method is replaced again. What a
 * subtransaction that rolls back has invalidated is loaded anew by whoever opens it next,
 * and nobody is told: the first statement after that does it, before it fires triggers
 * and when it ends. The reference belongs to the subtransaction that first needed it, as
 * the triggers in the queue do.
 *
 * Rows of a subtransaction that rolls back stay until the transaction ends; nobody asks
 * for them.
 */
#include "pando/compat/compat.h"

#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/relcache.h"
#include "utils/resowner.h"
#include "utils/tuplestore.h"

#include "pando/base/hook.h"
#include "pando/executor/kept_rows.h"

/* A place has a block and a number in it, from 1 on. */
#define ROWS_PER_BLOCK 1024

typedef struct Held
{
	Relation shell;
	const TableAmRoutine *own; /* what the cache gave it */
	TableAmRoutine routine;
	SubTransactionId subid;
} Held;

static Tuplestorestate *rows = NULL;
static int64 nrows = 0;
static int64 next = 0; /* number of the row that would be read next */
static List *held = NIL;
static bool stale = false; /* what is held may be invalid: a subtransaction rolled back */

/* ------------------------------------------------------------------------------------
 * The rows.
 */

/* What it takes from TOAST tables may be gone when it is wanted. */
static void
put_tuple(HeapTuple tuple, TupleDesc desc)
{
	HeapTuple flat =
		HeapTupleHasExternal(tuple) ? toast_flatten_tuple(tuple, desc) : tuple;

	tuplestore_puttuple(rows, flat);
	if (flat != tuple)
		heap_freetuple(flat);
}

ItemPointerData
kept_row_put(HeapTuple tuple, TupleDesc desc)
{
	ItemPointerData place;

	if (rows == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
		ResourceOwner owner = CurrentResourceOwner;

		CurrentResourceOwner = TopTransactionResourceOwner;
		rows = tuplestore_begin_heap(true, false, work_mem);
		CurrentResourceOwner = owner;
		MemoryContextSwitchTo(old);
		nrows = next = 0;
	}
	if (nrows >= (int64) MaxBlockNumber * ROWS_PER_BLOCK)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("too many rows wait for triggers")));
	put_tuple(tuple, desc);
	ItemPointerSet(&place, nrows / ROWS_PER_BLOCK, nrows % ROWS_PER_BLOCK + 1);
	nrows++;
	return place;
}

static bool
read_row(int64 number, TupleTableSlot *slot)
{
	if (number > next)
		(void) tuplestore_skiptuples(rows, number - next, true);
	else if (number < next)
		(void) tuplestore_skiptuples(rows, next - number, false);
	next = number + 1;
	return tuplestore_gettupleslot(rows, true, false, slot);
}

static bool
fetch_row(Relation shell, ItemPointer place, Snapshot snapshot, TupleTableSlot *slot)
{
	int64 number = (int64) ItemPointerGetBlockNumber(place) * ROWS_PER_BLOCK +
				   ItemPointerGetOffsetNumber(place) - 1;
	TupleTableSlot *row;
	bool found;

	if (rows == NULL || number >= nrows)
		return false;
	row = MakeSingleTupleTableSlot(RelationGetDescr(shell), &TTSOpsMinimalTuple);
	found = read_row(number, row);
	if (found)
	{
		ExecForceStoreHeapTuple(ExecCopySlotHeapTuple(row), slot, false);
		ExecMaterializeSlot(slot);
		slot->tts_tableOid = RelationGetRelid(shell);
	}
	ExecDropSingleTupleTableSlot(row);
	return found;
}

static const TupleTableSlotOps *
slots_of_rows(Relation relation)
{
	return &TTSOpsHeapTuple;
}

const TableAmRoutine *
kept_rows_routine(void)
{
	static TableAmRoutine routine;

	if (routine.tuple_fetch_row_version == NULL)
	{
		routine = *GetHeapamTableAmRoutine();
		routine.slot_callbacks = slots_of_rows;
		routine.tuple_fetch_row_version = fetch_row;
	}
	return &routine;
}

/* ------------------------------------------------------------------------------------
 * Shells that are held.
 */

static void
refer(Relation shell, ResourceOwner owner, void (*change)(Relation shell))
{
	ResourceOwner current = CurrentResourceOwner;

	CurrentResourceOwner = owner;
	change(shell);
	CurrentResourceOwner = current;
}

/* The descriptor is where it was; opened, it is what the catalogs say. */
static void
renew(Held *one)
{
	Relation shell = RelationIdGetRelation(RelationGetRelid(one->shell));

	if (shell == NULL)
		return;
	Assert(shell == one->shell);
	RelationClose(shell);
	shell->rd_tableam = &one->routine;
}

static void
renew_all(void)
{
	if (!stale || !IsTransactionState())
		return;
	foreach_ptr (Held, one, held)
		renew(one);
	stale = false;
}

void
kept_rows_hold(Oid relid)
{
	MemoryContext old;
	Held *one;

	renew_all();
	foreach_ptr (const Held, before, held)
	{
		if (RelationGetRelid(before->shell) == relid)
			return;
	}
	old = MemoryContextSwitchTo(TopTransactionContext);
	one = palloc(sizeof(Held));
	one->shell = RelationIdGetRelation(relid);
	one->own = one->shell->rd_tableam;
	one->routine = *one->own;
	one->routine.tuple_fetch_row_version = fetch_row;
	one->subid = GetCurrentSubTransactionId();
	refer(one->shell, CurTransactionResourceOwner, RelationIncrementReferenceCount);
	RelationClose(one->shell);
	held = lappend(held, one);
	one->shell->rd_tableam = &one->routine;
	MemoryContextSwitchTo(old);
}

static void
let_go(Held *one)
{
	one->shell->rd_tableam = one->own;
	held = list_delete_ptr(held, one);
}

void
kept_rows_let_go(void)
{
	List *before = list_copy(held);

	foreach_ptr (Held, one, before)
	{
		if (one->subid != GetCurrentSubTransactionId() ||
			AfterTriggerPendingOnRel(RelationGetRelid(one->shell)))
			continue;
		let_go(one);
		refer(one->shell, CurTransactionResourceOwner, RelationDecrementReferenceCount);
	}
	list_free(before);
}

bool
kept_rows_wait(void)
{
	foreach_ptr (const Held, one, held)
	{
		if (AfterTriggerPendingOnRel(RelationGetRelid(one->shell)))
			return true;
	}
	return false;
}

/* The cache may have loaded the descriptor anew, at the same address. */
static void
hold_again(Datum argument, Oid relid)
{
	foreach_ptr (Held, one, held)
		one->shell->rd_tableam = &one->routine;
}

/* ------------------------------------------------------------------------------------
 * Ends.
 */

static void
statement_ends(QueryDesc *query)
{
	renew_all();
	hook_end_next(END_HELD, query);
}

static void
utility_runs(PlannedStmt *pstmt, const char *text, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	renew_all();
	hook_utility_next(UTILITY_HELD, pstmt, text, read_only_tree, context, params,
					  environment, dest, qc);
	renew_all();
}

static void
transaction_ends(XactEvent event, void *argument)
{
	bool commits = event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE;
	List *before;

	if (!commits && event != XACT_EVENT_ABORT)
		return;
	before = held;
	held = NIL;
	stale = false;
	foreach_ptr (Held, one, before)
	{
		one->shell->rd_tableam = one->own;
		/* At an abort its owner does it. */
		if (commits)
			refer(one->shell, TopTransactionResourceOwner,
				  RelationDecrementReferenceCount);
	}
	if (commits && rows != NULL)
		tuplestore_end(rows);
	rows = NULL;
}

static void
subtransaction_ends(SubXactEvent event, SubTransactionId subid, SubTransactionId parent,
					void *argument)
{
	List *before;

	if (held == NIL ||
		(event != SUBXACT_EVENT_PRE_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB))
		return;
	stale = stale || event == SUBXACT_EVENT_ABORT_SUB;
	before = list_copy(held);
	foreach_ptr (Held, one, before)
	{
		if (one->subid != subid)
			continue;
		if (event == SUBXACT_EVENT_ABORT_SUB)
		{
			let_go(one);
			continue;
		}
		one->subid = parent;
		refer(one->shell, ResourceOwnerGetParent(CurTransactionResourceOwner),
			  RelationIncrementReferenceCount);
		refer(one->shell, CurTransactionResourceOwner, RelationDecrementReferenceCount);
	}
	list_free(before);
}

void
kept_rows_init(void)
{
	hook_end(END_HELD, statement_ends);
	hook_utility(UTILITY_HELD, utility_runs);
	CacheRegisterRelcacheCallback(hold_again, (Datum) 0);
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
}
