/*
 * tenant_stats.c: how much is done for each tenant, on the node that has its rows.
 *
 * A tenant is a value of the distribution column of a colocation group, or a distributed
 * schema. A statement on the shards of one shard group that names the value is counted
 * for it, and the processor time from its start to its end, of this process. There is a
 * present period and the one before; a tenant's score halves with each period, and the
 * statements of each are added to it: those with the highest are shown, and three times
 * as many are known. Nothing survives a restart of the server.
 */
#include "pando/compat/compat.h"

#include <limits.h>
#include <time.h>

#include "access/xact.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "pando/base/shared_memory.h"
#include "pando/base/tally.h"
#include "pando/monitor/stats.h"

PG_FUNCTION_INFO_V1(tenant_counts);
PG_FUNCTION_INFO_V1(citus_stat_tenants_local_reset);

#define KNOWN_PER_SHOWN 3
#define SCORE_OF_STATEMENT INT64CONST(1000000000)

/* Without padding. */
typedef struct TenantKey
{
	Oid database;
	int32 colocation;
	char name[PLAN_KEY_LENGTH];
} TenantKey;

typedef struct TenantPeriod
{
	int32 reads;
	int32 statements;
	double seconds; /* of processor time */
} TenantPeriod;

typedef struct TenantCounts
{
	int64 period; /* number of the present one */
	TenantPeriod now;
	TenantPeriod last;
	int64 score;
} TenantCounts;

typedef struct TenantRow
{
	TenantKey key;
	TenantCounts counts;
} TenantRow;

int tenant_stats_track = TRACK_NONE;

static int limit = 100;
static int period_seconds = 60;
static int log_level = 0;
static double sample_rate = 1;

static uint64 worth(void *value);
static Tally tally = {
	.key_size = sizeof(TenantKey), .value_size = sizeof(TenantCounts), .worth = worth};

/* The statement that is being measured. */
static const QueryDesc *measured = NULL;
static TenantKey measured_key;
static double measured_since = 0;

static const struct config_enum_entry level_options[] = {
	{"off", 0, false},		   {"debug5", DEBUG5, false},	{"debug4", DEBUG4, false},
	{"debug3", DEBUG3, false}, {"debug2", DEBUG2, false},	{"debug1", DEBUG1, false},
	{"debug", DEBUG2, true},   {"log", LOG, false},			{"info", INFO, false},
	{"notice", NOTICE, false}, {"warning", WARNING, false}, {NULL, 0, false}};

static void
attach(void *memory, LWLock *lock, bool fresh)
{
	tally_attach(&tally, memory, lock, fresh);
}

static double
processor_seconds(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0)
		return 0;
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static int64
present_period(void)
{
	return GetCurrentTimestamp() / (period_seconds * USECS_PER_SEC);
}

/* Brings the counts to the present period. */
static void
advance(TenantCounts *counts, int64 period)
{
	int64 passed = period - counts->period;

	if (passed == 0)
		return;
	counts->last = passed == 1 ? counts->now : (TenantPeriod){0};
	counts->now = (TenantPeriod){0};
	counts->score = passed > 0 && passed < 63 ? counts->score >> passed : 0;
	counts->period = period;
}

static uint64
worth(void *value)
{
	TenantCounts now = *(const TenantCounts *) value;

	advance(&now, present_period());
	return (uint64) now.score;
}

/* ------------------------------------------------------------------------------------
 * Counting.
 */

typedef struct Statement
{
	bool reads;
	double seconds;
	int64 period;
	bool is_new;
} Statement;

static void
count_statement(void *value, void *arg)
{
	TenantCounts *counts = value;
	Statement *statement = arg;

	statement->is_new = counts->period == 0;
	advance(counts, statement->period);
	counts->now.reads += statement->reads;
	counts->now.statements++;
	counts->now.seconds += statement->seconds;
	counts->score += SCORE_OF_STATEMENT;
}

/* A tenant that is not known yet is taken note of by chance. */
static bool
is_sampled(const TenantKey *key)
{
	return sample_rate >= 1 || tally_has(&tally, key) ||
		   pg_prng_double(&pg_global_prng_state) < sample_rate;
}

void
tenant_stats_begin(const QueryDesc *query, const PlanKey *key)
{
	if (tally.table == NULL || measured != NULL)
		return;
	measured_key.database = MyDatabaseId;
	measured_key.colocation = key->colocation;
	memcpy(measured_key.name, key->text, PLAN_KEY_LENGTH);
	measured = query;
	measured_since = processor_seconds();
}

void
tenant_stats_end(const QueryDesc *query)
{
	Statement statement = {.reads = query->operation == CMD_SELECT,
						   .period = present_period()};

	if (measured != query)
		return;
	measured = NULL;
	if (!is_sampled(&measured_key))
		return;
	statement.seconds = processor_seconds() - measured_since;
	tally_update(&tally, &measured_key, count_statement, &statement);
	if (log_level != 0 && statement.is_new)
		ereport(log_level, (errmsg("tenant \"%s\" of colocation group %d is counted",
								   measured_key.name, measured_key.colocation)));
}

/* One that fails has no end. */
static void
transaction_ends(XactEvent event, void *arg)
{
	measured = NULL;
}

static void
subtransaction_ends(SubXactEvent event, SubTransactionId subid, SubTransactionId parent,
					void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		measured = NULL;
}

/* ------------------------------------------------------------------------------------
 * Showing.
 */

static void
collect(const void *key, const void *value, void *arg)
{
	const TenantKey *tenant = key;
	List **rows = arg;
	TenantRow *row;

	if (tenant->database != MyDatabaseId)
		return;
	row = palloc(sizeof(TenantRow));
	row->key = *tenant;
	row->counts = *(const TenantCounts *) value;
	*rows = lappend(*rows, row);
}

static int
compare_rows(const ListCell *a, const ListCell *b)
{
	const TenantRow *left = lfirst(a);
	const TenantRow *right = lfirst(b);

	if (left->counts.score != right->counts.score)
		return left->counts.score > right->counts.score ? -1 : 1;
	return memcmp(&left->key, &right->key, sizeof(TenantKey));
}

static void
show(ReturnSetInfo *result, const TenantRow *row)
{
	const TenantCounts *counts = &row->counts;
	bool nulls[9] = {false};
	Datum values[9];

	values[0] = Int32GetDatum(row->key.colocation);
	values[1] = CStringGetTextDatum(row->key.name);
	values[2] = Int32GetDatum(counts->now.reads);
	values[3] = Int32GetDatum(counts->last.reads);
	values[4] = Int32GetDatum(counts->now.statements);
	values[5] = Int32GetDatum(counts->last.statements);
	values[6] = Float8GetDatum(counts->now.seconds);
	values[7] = Float8GetDatum(counts->last.seconds);
	values[8] = Int64GetDatum(counts->score);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* pando.tenant_counts(all): those of this node and database, the most active ones first
 */
Datum
tenant_counts(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	bool all = PG_GETARG_BOOL(0);
	int64 period = present_period();
	List *rows = NIL;
	int shown = 0;

	InitMaterializedSRF(fcinfo, 0);
	if (!stats_may_see_all())
		return (Datum) 0;
	tally_each(&tally, collect, &rows);
	foreach_ptr (TenantRow, row, rows)
		advance(&row->counts, period);
	list_sort(rows, compare_rows);
	foreach_ptr (const TenantRow, row, rows)
	{
		if (all || shown++ < limit)
			show(result, row);
	}
	return (Datum) 0;
}

static bool
is_of_database(const void *key, void *arg)
{
	return ((const TenantKey *) key)->database == MyDatabaseId;
}

Datum
citus_stat_tenants_local_reset(PG_FUNCTION_ARGS)
{
	tally_forget(&tally, is_of_database, NULL);
	PG_RETURN_VOID();
}

void
tenant_stats_init(void)
{
	static SharedMemory memory = {"pando_tenant_stats", 0, 0, attach};

	DefineCustomEnumVariable(
		"citus.stat_tenants_track",
		"Counts what is done for each tenant, for citus_stat_tenants.", NULL,
		&tenant_stats_track, TRACK_NONE, stats_track_options, PGC_SUSET, 0, NULL, NULL,
		NULL);
	DefineCustomIntVariable(
		"citus.stat_tenants_limit",
		"Tenants that citus_stat_tenants shows of a node; three times "
		"as many are known.",
		NULL, &limit, 100, 1, 1000000, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.stat_tenants_period",
							"Length of the periods for which tenants are counted.", NULL,
							&period_seconds, 60, 1, 60 * 60 * 24, PGC_SIGHUP, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomEnumVariable("citus.stat_tenants_log_level",
							 "Level at which tenants that are new are reported.", NULL,
							 &log_level, 0, level_options, PGC_SUSET, 0, NULL, NULL,
							 NULL);
	DefineCustomRealVariable("citus.stat_tenants_untracked_sample_rate",
							 "Part of the statements of tenants that are not known yet "
							 "that makes them known.",
							 NULL, &sample_rate, 1, 0, 1, PGC_SUSET, 0, NULL, NULL, NULL);
	tally.capacity = limit * KNOWN_PER_SHOWN;
	memory.size = tally_size(&tally);
	shared_memory_register(&memory);
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
}
