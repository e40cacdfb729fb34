/*
 * counter.c: counts of what a server does per database, in shared memory.
 *
 * A database gets a slot at its first count and keeps it until the server stops; when all
 * are taken the next database is not counted. Counts are atomic: adding takes no lock.
 * They do not survive a restart.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "pando/base/counter.h"
#include "pando/base/shared_memory.h"

#define MAX_DATABASES 256

PG_FUNCTION_INFO_V1(citus_stat_counters);
PG_FUNCTION_INFO_V1(citus_stat_counters_reset);

typedef struct CounterSlot
{
	Oid database; /* InvalidOid: free */
	pg_atomic_uint64 counts[NCOUNTERS];
	TimestampTz reset; /* 0: never */
} CounterSlot;

typedef struct CounterTable
{
	CounterSlot slots[MAX_DATABASES];
} CounterTable;

bool counter_enabled = false;

static CounterTable *table = NULL;
static LWLock *table_lock = NULL; /* guards who has which slot, and resets */
static CounterSlot *own_slot = NULL;

static void
counter_attach(void *memory, LWLock *lock, bool fresh)
{
	table = memory;
	table_lock = lock;
	for (int i = 0; fresh && i < MAX_DATABASES; i++)
		for (int j = 0; j < NCOUNTERS; j++)
			pg_atomic_init_u64(&table->slots[i].counts[j], 0);
}

void
counter_init(void)
{
	static const SharedMemory memory = {"pando_counter", sizeof(CounterTable), 0,
										counter_attach};

	DefineCustomBoolVariable("citus.enable_stat_counters",
							 "Counts connections to nodes and distributed queries.", NULL,
							 &counter_enabled, false, PGC_SUSET, 0, NULL, NULL, NULL);
	shared_memory_register(&memory);
}

/* Slot of a database; NULL if it has none. The caller holds the lock. */
static CounterSlot *
slot_find(Oid database)
{
	for (int i = 0; i < MAX_DATABASES; i++)
		if (table->slots[i].database == database)
			return &table->slots[i];
	return NULL;
}

static CounterSlot *
slot_take(void)
{
	CounterSlot *slot;

	LWLockAcquire(table_lock, LW_EXCLUSIVE);
	slot = slot_find(MyDatabaseId);
	if (slot == NULL)
		slot = slot_find(InvalidOid);
	if (slot != NULL)
		slot->database = MyDatabaseId;
	LWLockRelease(table_lock);
	return slot;
}

void
counter_add_slow(Counter counter)
{
	if (table == NULL || !OidIsValid(MyDatabaseId))
		return;
	if (own_slot == NULL)
		own_slot = slot_take();
	if (own_slot != NULL)
		pg_atomic_fetch_add_u64(&own_slot->counts[counter], 1);
}

/* citus_stat_counters(database or 0 for all) */
Datum
citus_stat_counters(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid database = PG_GETARG_OID(0);

	InitMaterializedSRF(fcinfo, 0);
	LWLockAcquire(table_lock, LW_SHARED);
	for (int i = 0; i < MAX_DATABASES; i++)
	{
		CounterSlot *slot = &table->slots[i];
		Datum values[NCOUNTERS + 2];
		bool nulls[NCOUNTERS + 2] = {false};

		if (!OidIsValid(slot->database) ||
			(OidIsValid(database) && slot->database != database))
			continue;
		values[0] = ObjectIdGetDatum(slot->database);
		for (int j = 0; j < NCOUNTERS; j++)
			values[j + 1] = Int64GetDatum(pg_atomic_read_u64(&slot->counts[j]));
		values[NCOUNTERS + 1] = TimestampTzGetDatum(slot->reset);
		nulls[NCOUNTERS + 1] = slot->reset == 0;
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	LWLockRelease(table_lock);
	return (Datum) 0;
}

/* citus_stat_counters_reset(database or 0 for the present one) */
Datum
citus_stat_counters_reset(PG_FUNCTION_ARGS)
{
	Oid database = PG_GETARG_OID(0);
	CounterSlot *slot;

	if (!OidIsValid(database))
		database = MyDatabaseId;
	LWLockAcquire(table_lock, LW_EXCLUSIVE);
	slot = slot_find(database);
	if (slot != NULL)
	{
		for (int j = 0; j < NCOUNTERS; j++)
			pg_atomic_write_u64(&slot->counts[j], 0);
		slot->reset = GetCurrentTimestamp();
	}
	LWLockRelease(table_lock);
	PG_RETURN_VOID();
}
