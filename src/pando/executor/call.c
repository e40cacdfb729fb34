/*
 * call.c: where a call of a distributed function runs, or of one that is the
 * coordinator's, which is handed over or stays.
 *
 * On the node that has the rows of its argument: handed over if it is all of its
 * transaction, delegated if not (transaction/call.c). A delegated call that needs more
 * than its node is rolled back there, to a savepoint, and runs here as if nothing had
 * been: so does one that the node can't do for the lack of something (SQLSTATE 0A and
 * 42), a table of this node alone for example. What that costs is remembered for a while.
 *
 * A function with force_delegation must keep to its argument's shard group, wherever it
 * runs: its queries may use nothing else but reference tables, which they read.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "tcop/pquery.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/base/counter.h"
#include "pando/base/hook.h"
#include "pando/base/literal.h"
#include "pando/base/subtransaction.h"
#include "pando/executor/call.h"
#include "pando/executor/decode.h"
#include "pando/executor/kept_rows.h"
#include "pando/metadata/shard_relation.h"
#include "pando/remote/session.h"
#include "pando/transaction/xact.h"

/* The shard group that the running call is forced to keep to. */
static struct
{
	bool active;
	int32 colocation;
	int index;
} keep;

/* ------------------------------------------------------------------------------------
 * Leaving.
 */

/* Would a function that sees what the query sees see something else on the node? */
static bool
has_older_snapshot(const DistFunction *function, EState *estate)
{
	if (func_volatile(function->funcid) == PROVOLATILE_VOLATILE)
		return false;
	return (estate != NULL && xact_shares_snapshot(estate)) ||
		   (ActivePortal != NULL && (ActivePortal->cursorOptions &
									 (CURSOR_OPT_SCROLL | CURSOR_OPT_NO_SCROLL)) != 0);
}

CallWay
call_way(const DistFunction *function, EState *estate, bool alone, bool atomic)
{
	if (alone && xact_may_hand_over())
		return CALL_HANDED_OVER;
	if (function->coordinators || !atomic || !xact_may_delegate(estate) ||
		has_older_snapshot(function, estate) || !dist_function_try(function->funcid))
		return CALL_STAYS;
	return CALL_DELEGATED;
}

/* Within a transaction the shard group must stay where it is to its end. */
const DistTable *
call_anchor(const DistTable *anchor, CallWay way)
{
	Oid relid;

	if (anchor == NULL || way != CALL_DELEGATED)
		return anchor;
	relid = anchor->relid;
	LockRelationOid(relid, XactReadOnly ? AccessShareLock : RowExclusiveLock);
	anchor = dist_table(relid);
	return anchor != NULL && dist_table_is_sharded(anchor) ? anchor : NULL;
}

CallPlace
call_coordinator(void)
{
	return (CallPlace){.node = node_is_coordinator() ? NULL
													 : node_by_group(COORDINATOR_GROUP)};
}

CallPlace
call_place(const DistTable *anchor, int index)
{
	CallPlace place = {.known = true, .colocation = anchor->colocation, .index = index};
	const Shard *shard = &anchor->shards[index];
	const DistNode *node =
		shard->nplacements > 0 ? node_by_group(shard->placements[0].group) : NULL;

	if (node != NULL && node->active && node->group != node_local_group())
		place.node = node;
	return place;
}

static void
take_rows(const PGresult *result, TupleDesc desc, Tuplestorestate *store)
{
	RowDecoder *decoder = decoder_create(desc, false, false);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "call row", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Datum *values = palloc(sizeof(Datum) * (desc->natts + 1));
	bool *nulls = palloc(sizeof(bool) * (desc->natts + 1));

	for (int row = 0; row < PQntuples(result); row++)
	{
		MemoryContext row_context =
			AllocSetContextCreate(context, "call row values", ALLOCSET_SMALL_SIZES);

		MemoryContextSwitchTo(row_context);
		(void) decode_result_row(decoder, result, row, values, nulls);
		MemoryContextSwitchTo(context);
		tuplestore_putvalues(store, desc, values, nulls);
		MemoryContextDelete(row_context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
run_over(Session *session, const RemoteCall *call, TupleDesc desc, Tuplestorestate *store)
{
	const char **texts = palloc(sizeof(char *) * (call->nparams + 1));
	PGresult *result;

	counter_add(COUNTER_QUERY_SINGLE);
	for (int i = 0; i < call->nparams; i++)
		texts[i] = literal_text(call->values[i], call->nulls[i],
								call->types[i] == UNKNOWNOID ? TEXTOID : call->types[i]);
	session_send_params(session, call->sql, call->nparams, texts, NULL, false,
						REUSE_PLAN);
	result = session_finish(session);
	if (store != NULL && result != NULL)
		take_rows(result, desc, store);
	session_result_free(result);
}

/* Is the error of a node one that this node might not have? */
static bool
is_of_the_node(const ErrorData *error)
{
	int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		return error->constraint_name != NULL &&
			   strcmp(error->constraint_name, XACT_NEEDS_OTHERS) == 0;
	return category == ERRCODE_FEATURE_NOT_SUPPORTED ||
		   category == ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION;
}

/* The session for a call within the transaction, which writes if it may. */
static Session *
session_within(const DistNode *node)
{
	return xact_session(node, XactReadOnly ? XACT_READ : XACT_WRITE);
}

typedef struct Trial
{
	const DistNode *node;
	const RemoteCall *call;
	TupleDesc desc;
	Tuplestorestate *store;
} Trial;

static void
trial(void *arg)
{
	const Trial *what = arg;

	run_over(session_within(what->node), what->call, what->desc, what->store);
}

/* In a subtransaction, which is taken back if the call has to run here. */
static bool
try_there(const DistNode *node, const RemoteCall *call, TupleDesc desc,
		  Tuplestorestate *store)
{
	Trial what = {node, call, desc, store};
	bool wrote_before = xact_wrote_on(node->group);
	ErrorData *error = subtransaction_try(trial, &what, true);
	bool done = error == NULL;

	if (!done)
	{
		xact_undelegate(node, wrote_before);
		if (!is_of_the_node(error))
			ReThrowError(error);
		ereport(DEBUG1, (errmsg_internal("a call that was delegated runs here: %s",
										 error->message)));
		FreeErrorData(error);
	}
	dist_function_tried(call->function->funcid, done);
	return done;
}

bool
call_run(const DistNode *node, CallWay way, const RemoteCall *call, TupleDesc desc,
		 Tuplestorestate *store)
{
	Session *session;

	if (way == CALL_DELEGATED && !call->function->forced)
		return try_there(node, call, desc, store);
	session = way == CALL_DELEGATED
				  ? session_within(node)
				  : xact_session_to_serve(node, call->function->coordinators);
	if (session == NULL)
		return false;
	run_over(session, call, desc, store);
	return true;
}

/* ------------------------------------------------------------------------------------
 * Staying, or having come.
 */

void
call_run_here(bool forced, CallPlace place, void (*run)(void *arg), void *arg)
{
	bool serves = xact_is_for_node();
	bool keeps = forced && place.known && !keep.active;

	if (!serves && !keeps)
	{
		run(arg);
		return;
	}
	if (serves)
		xact_serve(forced);
	if (keeps)
	{
		keep.active = true;
		keep.colocation = place.colocation;
		keep.index = place.index;
	}
	PG_TRY();
	{
		run(arg);
	}
	PG_FINALLY();
	{
		if (keeps)
			keep.active = false;
		if (serves)
			xact_serve_end();
	}
	PG_END_TRY();
	if (serves)
		xact_serve_check(kept_rows_wait());
}

void
call_check_place(const DistTable *table, int index, bool write)
{
	if (!keep.active || table == NULL || (table->kind == TABLE_REFERENCE && !write) ||
		(table->colocation == keep.colocation && index == keep.index))
		return;
	xact_raise_forced(
		psprintf("The table \"%s\" is used elsewhere than in the shard group "
				 "of the argument.",
				 get_rel_name(table->relid)));
}

/* Shards that PostgreSQL's own plan uses. */
static void
check_start(QueryDesc *query, int eflags)
{
	const PlannedStmt *stmt = query->plannedstmt;
	int number = 0;

	if (keep.active)
	{
		foreach_ptr (RangeTblEntry, rte, stmt->rtable)
		{
			const DistTable *table;
			const Shard *shard;
			int64 id;

			number++;
			if (rte->rtekind != RTE_RELATION || !relation_is_shard(rte->relid, &id, NULL))
				continue;
			shard = shard_by_id(id, &table);
			if (shard != NULL)
				call_check_place(table, shard->index,
								 list_member_int(stmt->resultRelations, number));
		}
	}
	hook_start_next(START_PLACE, query, eflags);
}

void
call_init(void)
{
	hook_start(START_PLACE, check_start);
	call_statement_init();
	call_scan_register();
}
