/*
 * statement_stats.c: how often distributed statements run, and for which key.
 *
 * A statement is known by its query id, as in pg_stat_statements, which also has its
 * text. Counts don't survive a restart of the server. What pg_stat_statements no longer
 * has is not shown, and makes room when that is needed.
 */
#include "pando/compat/compat.h"

#include <limits.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "pando/base/shared_memory.h"
#include "pando/base/tally.h"
#include "pando/monitor/stats.h"
#include "pando/plan/fragment.h"

PG_FUNCTION_INFO_V1(statement_counts);
PG_FUNCTION_INFO_V1(citus_stat_statements_reset);

typedef enum Executor
{
	EXECUTOR_ADAPTIVE,
	EXECUTOR_INSERT_SELECT
} Executor;

static const char *const executor_names[] = {"adaptive", "insert-select"};

/* Without padding. */
typedef struct StatementKey
{
	uint64 query_id;
	Oid user;
	Oid database;
	int32 executor;
	bool has_key;
	char key[PLAN_KEY_LENGTH + 3];
} StatementKey;

/* A call is worth as much, less each time that room is made. */
#define WORTH_OF_CALL 1000
#define PART_TO_LOSE 50

typedef struct StatementCounts
{
	uint64 calls;
	uint64 worth;
} StatementCounts;

int statement_stats_track = TRACK_NONE;

static int max_statements = 50000;

static uint64
worth(void *value)
{
	StatementCounts *counts = value;
	uint64 now = counts->worth;

	counts->worth -= now / PART_TO_LOSE;
	return now;
}

static Tally tally = {.key_size = sizeof(StatementKey),
					  .value_size = sizeof(StatementCounts),
					  .worth = worth};

static void
attach(void *memory, LWLock *lock, bool fresh)
{
	tally_attach(&tally, memory, lock, fresh);
}

static void
count_one(void *value, void *arg)
{
	StatementCounts *counts = value;

	counts->calls++;
	counts->worth += WORTH_OF_CALL;
}

void
statement_stats_count(const QueryDesc *query, const PlanKey *key)
{
	const PlannedStmt *stmt = query->plannedstmt;
	StatementKey statement;

	if (tally.table == NULL || stmt->queryId == UINT64CONST(0))
		return;
	memset(&statement, 0, sizeof(statement));
	statement.query_id = stmt->queryId;
	statement.user = GetUserId();
	statement.database = MyDatabaseId;
	statement.executor = plan_is_kind(stmt->planTree, PLAN_INSERT_SELECT)
							 ? EXECUTOR_INSERT_SELECT
							 : EXECUTOR_ADAPTIVE;
	statement.has_key = key->known && !key->schema;
	if (statement.has_key)
		memcpy(statement.key, key->text, PLAN_KEY_LENGTH);
	tally_update(&tally, &statement, count_one, NULL);
}

/* Who sees what, as pg_stat_statements has it. */
static void
show(const void *key, const void *value, void *arg)
{
	const StatementKey *statement = key;
	ReturnSetInfo *result = arg;
	Datum values[6];
	bool nulls[6] = {false};

	if (statement->user != GetUserId() && !stats_may_see_all())
		return;
	values[0] = Int64GetDatum((int64) statement->query_id);
	values[1] = ObjectIdGetDatum(statement->user);
	values[2] = ObjectIdGetDatum(statement->database);
	values[3] = CStringGetTextDatum(executor_names[statement->executor]);
	nulls[4] = !statement->has_key;
	values[4] = nulls[4] ? (Datum) 0 : CStringGetTextDatum(statement->key);
	values[5] = Int64GetDatum((int64) ((const StatementCounts *) value)->calls);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* pando.statement_counts() */
Datum
statement_counts(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	tally_each(&tally, show, fcinfo->resultinfo);
	return (Datum) 0;
}

static bool
any(const void *key, void *arg)
{
	return true;
}

Datum
citus_stat_statements_reset(PG_FUNCTION_ARGS)
{
	tally_forget(&tally, any, NULL);
	PG_RETURN_VOID();
}

void
statement_stats_init(void)
{
	static SharedMemory memory = {"pando_statement_stats", 0, 0, attach};

	DefineCustomEnumVariable("citus.stat_statements_track",
							 "Counts distributed statements, for citus_stat_statements.",
							 NULL, &statement_stats_track, TRACK_NONE,
							 stats_track_options, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.stat_statements_max",
							"Statements, each with its distribution column's value, that "
							"are counted at most.",
							NULL, &max_statements, 50000, 1000, 10000000, PGC_POSTMASTER,
							0, NULL, NULL, NULL);
	tally.capacity = max_statements;
	memory.size = tally_size(&tally);
	shared_memory_register(&memory);
}
