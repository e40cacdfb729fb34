/*
 * run_local.c: SQL on this node's own shards, inside the backend.
 *
 * Plans live in PostgreSQL's plan cache, which replans when something they depend on has
 * changed. They are found by text and parameter types; the ones used longest ago make
 * room.
 *
 * Reads are pulled row by row straight from the plan's top node, so that a cursor or a
 * LIMIT stops them early. A plan with parallel workers can't be left in the middle and
 * runs to its end at once.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "parser/analyze.h"
#include "portability/instr_time.h"
#include "tcop/cmdtag.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "pando/compat/rights.h"
#include "pando/base/statement_caches.h"
#include "pando/executor/run_local.h"
#include "pando/metadata/shard_relation.h"
#include "pando/plan/fragment.h"
#include "pando/transaction/access.h"
#include "pando/transaction/xact.h"

#define MAX_CACHED 128

struct LocalQuery
{
	CachedPlan *plan;
	ResourceOwner owner;
	QueryDesc *desc;
	bool write;
	bool finished;
	double planning_ms;
	double execution_ms;
};

typedef struct CachedStatement
{
	dlist_node link; /* most recently used first */
	uint32 hash;
	char *sql;
	int nparams;
	Oid *types;
	CachedPlanSource *source;
} CachedStatement;

static dlist_head statements = DLIST_STATIC_INIT(statements);
static int nstatements = 0;

static void
statement_drop(CachedStatement *statement)
{
	dlist_delete(&statement->link);
	nstatements--;
	DropCachedPlan(statement->source);
	pfree(statement->sql);
	pfree(statement->types);
	pfree(statement);
}

static CachedPlanSource *
plan_source_create(const char *sql, int nparams, const Oid *types)
{
	List *parsed = pg_parse_query(sql);
	RawStmt *raw;
	CachedPlanSource *source;
	List *queries;

	if (list_length(parsed) != 1)
		elog(ERROR, "expected one statement: %s", sql);
	raw = linitial_node(RawStmt, parsed);
	source = CreateCachedPlan(raw, sql, CreateCommandTag(raw->stmt));
	queries = pg_analyze_and_rewrite_fixedparams(raw, sql, types, nparams, NULL);
	CompleteCachedPlan(source, queries, NULL, unconstify(Oid *, types), nparams, NULL,
					   NULL, CURSOR_OPT_PARALLEL_OK, false);
	return source;
}

static CachedPlanSource *
plan_source(const char *sql, int nparams, const Oid *types)
{
	uint32 hash = hash_bytes((const unsigned char *) sql, strlen(sql));
	CachedStatement *statement;
	CachedPlanSource *source;
	MemoryContext old;
	dlist_iter iter;

	dlist_foreach (iter, &statements)
	{
		statement = dlist_container(CachedStatement, link, iter.cur);
		if (statement->hash == hash && statement->nparams == nparams &&
			memcmp(statement->types, types, sizeof(Oid) * nparams) == 0 &&
			strcmp(statement->sql, sql) == 0)
		{
			dlist_move_head(&statements, &statement->link);
			return statement->source;
		}
	}

	source = plan_source_create(sql, nparams, types);
	if (nstatements >= MAX_CACHED)
		statement_drop(dlist_tail_element(CachedStatement, link, &statements));
	old = MemoryContextSwitchTo(TopMemoryContext);
	statement = palloc0(sizeof(CachedStatement));
	statement->hash = hash;
	statement->sql = pstrdup(sql);
	statement->nparams = nparams;
	statement->types = palloc(sizeof(Oid) * (nparams + 1));
	if (nparams > 0)
		memcpy(statement->types, types, sizeof(Oid) * nparams);
	SaveCachedPlan(source);
	statement->source = source;
	dlist_push_head(&statements, &statement->link);
	nstatements++;
	MemoryContextSwitchTo(old);
	return source;
}

/*
 * The client's rights were checked on the shell table, whose shards these are. A table
 * that only has a shard's name is another's: PostgreSQL checks as always.
 */
static void
skip_permission_checks(PlannedStmt *stmt)
{
	foreach_ptr (RangeTblEntry, rte, stmt->rtable)
	{
		RelationRights *rights = plan_rights(stmt, rte);

		if (rights->requiredPerms != 0 && relation_has_shell_rights(rte->relid))
			rights_waive(rights);
	}
}

static PlannedStmt *
plan_cached(LocalQuery *query, const char *sql, int nparams, const Oid *types,
			ParamListInfo params)
{
	CachedPlanSource *source = plan_source(sql, nparams, types);

	query->plan = GetCachedPlan(source, params, query->owner, NULL);
	return linitial_node(PlannedStmt, query->plan->stmt_list);
}

static PlannedStmt *
plan_once(const char *sql, int nparams, const Oid *types, ParamListInfo params,
		  List *roles)
{
	List *parsed = pg_parse_query(sql);
	List *queries;
	AccessHere before;

	if (list_length(parsed) != 1)
		elog(ERROR, "expected one statement: %s", sql);
	before = access_here((AccessHere){.sql = sql, .roles = roles});
	PG_TRY();
	{
		queries = pg_analyze_and_rewrite_fixedparams(linitial_node(RawStmt, parsed), sql,
													 types, nparams, NULL);
	}
	PG_FINALLY();
	{
		(void) access_here(before);
	}
	PG_END_TRY();
	return linitial_node(PlannedStmt,
						 pg_plan_queries(queries, sql, CURSOR_OPT_PARALLEL_OK, params));
}

double
elapsed_ms(instr_time start)
{
	instr_time now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MILLISEC(now);
}

LocalQuery *
local_open(const char *sql, int nparams, const Oid *types, ParamListInfo params,
		   bool write, int instrument, List *roles)
{
	LocalQuery *query = palloc0(sizeof(LocalQuery));
	PlannedStmt *stmt;
	instr_time start;

	if (plan_logs_local)
		ereport(NOTICE, (errmsg_internal("executing the command locally: %s", sql)));
	query->owner = CurrentResourceOwner;
	query->write = write;
	if (write)
	{
		PushCopiedSnapshot(GetActiveSnapshot());
		UpdateActiveSnapshotCommandId();
	}
	else
		PushActiveSnapshot(GetActiveSnapshot());

	INSTR_TIME_SET_CURRENT(start);
	/* A text that has its values in it will hardly be seen again. */
	stmt = nparams > 0 && roles == NIL && statement_caches != STATEMENT_CACHES_NEVER
			   ? plan_cached(query, sql, nparams, types, params)
			   : plan_once(sql, nparams, types, params, roles);
	query->planning_ms = elapsed_ms(start);
	if (stmt->commandType == CMD_UTILITY)
		elog(ERROR, "not a query: %s", sql);
	skip_permission_checks(stmt);
	if (write)
		xact_wrote_locally();

	INSTR_TIME_SET_CURRENT(start);
	query->desc =
		CreateQueryDesc(stmt, pstrdup(sql), GetActiveSnapshot(), InvalidSnapshot,
						None_Receiver, params, NULL, instrument);
	ExecutorStart(query->desc, 0);
	query->execution_ms = elapsed_ms(start);
	PopActiveSnapshot();
	return query;
}

bool
local_must_run_whole(const LocalQuery *query)
{
	return query->desc->plannedstmt->parallelModeNeeded || query->write ||
		   query->desc->operation != CMD_SELECT;
}

TupleTableSlot *
local_next(LocalQuery *query)
{
	EState *estate = query->desc->estate;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	TupleTableSlot *slot;
	instr_time start;

	Assert(!local_must_run_whole(query));
	PushActiveSnapshot(query->desc->snapshot);
	if (query->desc->instrument_options)
		INSTR_TIME_SET_CURRENT(start);
	estate->es_direction = ForwardScanDirection;
	ResetPerTupleExprContext(estate);
	slot = ExecProcNode(query->desc->planstate);
	if (!TupIsNull(slot) && estate->es_junkFilter != NULL)
		slot = ExecFilterJunk(estate->es_junkFilter, slot);
	if (query->desc->instrument_options)
		query->execution_ms += elapsed_ms(start);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	if (TupIsNull(slot))
		return NULL;
	estate->es_processed++;
	return slot;
}

void
local_run(LocalQuery *query, DestReceiver *dest)
{
	instr_time start;

	INSTR_TIME_SET_CURRENT(start);
	if (dest != NULL)
		query->desc->dest = dest;
	PushActiveSnapshot(query->desc->snapshot);
	ExecutorRun(query->desc, ForwardScanDirection, 0, true);
	PopActiveSnapshot();
	query->execution_ms += elapsed_ms(start);
}

void
local_finish(LocalQuery *query)
{
	instr_time start;

	if (query->finished)
		return;
	INSTR_TIME_SET_CURRENT(start);
	PushActiveSnapshot(query->desc->snapshot);
	ExecutorFinish(query->desc);
	PopActiveSnapshot();
	query->execution_ms += elapsed_ms(start);
	query->finished = true;
}

uint64
local_processed(const LocalQuery *query)
{
	return query->desc->estate->es_processed;
}

QueryDesc *
local_query_desc(const LocalQuery *query)
{
	return query->desc;
}

double
local_planning_ms(const LocalQuery *query)
{
	return query->planning_ms;
}

double
local_execution_ms(const LocalQuery *query)
{
	return query->execution_ms;
}

void
local_close(LocalQuery *query)
{
	local_finish(query);
	ExecutorEnd(query->desc);
	FreeQueryDesc(query->desc);
	if (query->plan != NULL)
		ReleaseCachedPlan(query->plan, query->owner);
	if (query->write)
		CommandCounterIncrement();
	pfree(query);
}
