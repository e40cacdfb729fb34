/*
 * move_progress.c: what get_rebalance_progress() shows of moves under way.
 *
 * A fixed table in shared memory, one entry per shard group to move, guarded by one lock.
 * A backend frees its entries when its transaction or it itself ends. Moves beyond the
 * size of the table are not shown.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "pando/base/shared_memory.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/shard_size.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

#define MAX_ENTRIES 1024

PG_FUNCTION_INFO_V1(get_rebalance_progress);

typedef struct Entry
{
	int pid; /* 0: free */
	Oid database;
	int64 shard_id;
	int32 source; /* node ids */
	int32 target;
	MoveKind kind;
	MoveStep step;
} Entry;

typedef struct ProgressTable
{
	Entry entries[MAX_ENTRIES];
} ProgressTable;

static const struct
{
	const char *status;
	int progress; /* 0 waiting, 1 under way, 2 done */
} steps[] = {
	[MOVE_NOT_STARTED] = {"Not Started Yet", 0},
	[MOVE_SETTING_UP] = {"Setting Up", 1},
	[MOVE_COPYING_DATA] = {"Copying Data", 1},
	[MOVE_CREATING_CONSTRAINTS] = {"Creating Constraints", 1},
	[MOVE_CATCHING_UP] = {"Catching Up", 1},
	[MOVE_COMPLETED] = {"Completed", 2},
};

static const char *const operations[] = {
	[MOVE_PLACEMENT] = "move", [COPY_PLACEMENT] = "copy", [SPLIT_PLACEMENT] = "split"};

static ProgressTable *table = NULL;
static LWLock *table_lock = NULL;
static bool have_entries = false;

static void
progress_attach(void *memory, LWLock *lock, bool fresh)
{
	table = memory;
	table_lock = lock;
}

static void
forget_own(void)
{
	if (!have_entries)
		return;
	have_entries = false;
	LWLockAcquire(table_lock, LW_EXCLUSIVE);
	for (int i = 0; i < MAX_ENTRIES; i++)
	{
		if (table->entries[i].pid == MyProcPid)
			table->entries[i].pid = 0;
	}
	LWLockRelease(table_lock);
}

static void
progress_transaction(XactMoment moment, bool committed)
{
	if (moment == XACT_MOMENT_END)
		forget_own();
}

static void
progress_exit(int code, Datum arg)
{
	forget_own();
}

void
move_progress_init(void)
{
	static const SharedMemory memory = {"pando_move_progress", sizeof(ProgressTable), 0,
										progress_attach};

	shared_memory_register(&memory);
	xact_register(progress_transaction);
}

/* This backend's entry for the shard, or a free one if `add`; the lock is held. */
static Entry *
entry_find(int64 shard_id, bool add)
{
	Entry *unused = NULL;

	for (int i = 0; i < MAX_ENTRIES; i++)
	{
		Entry *entry = &table->entries[i];

		if (entry->pid == MyProcPid && entry->shard_id == shard_id)
			return entry;
		if (entry->pid == 0 && unused == NULL)
			unused = entry;
	}
	return add ? unused : NULL;
}

void
move_progress_add(int64 shard_id, const DistNode *source, const DistNode *target,
				  MoveKind kind)
{
	static bool registered = false;
	Entry *entry;

	if (!registered)
	{
		before_shmem_exit(progress_exit, (Datum) 0);
		registered = true;
	}
	LWLockAcquire(table_lock, LW_EXCLUSIVE);
	entry = entry_find(shard_id, true);
	if (entry != NULL && entry->pid == 0)
	{
		have_entries = true;
		*entry = (Entry){.pid = MyProcPid,
						 .database = MyDatabaseId,
						 .shard_id = shard_id,
						 .source = source->id,
						 .target = target->id,
						 .kind = kind,
						 .step = MOVE_NOT_STARTED};
	}
	LWLockRelease(table_lock);
}

void
move_progress_set(int64 shard_id, MoveStep step)
{
	Entry *entry;

	LWLockAcquire(table_lock, LW_EXCLUSIVE);
	entry = entry_find(shard_id, false);
	if (entry != NULL)
		entry->step = step;
	LWLockRelease(table_lock);
}

/* One row per shard of the group that the entry is about. */
static void
put_rows(ReturnSetInfo *result, const Entry *entry)
{
	const DistTable *anchor;
	const Shard *shard = shard_by_id(entry->shard_id, &anchor);
	const DistNode *source = node_by_id(entry->source);
	const DistNode *target = node_by_id(entry->target);
	ListCell *cell;

	if (shard == NULL || source == NULL || target == NULL)
		return;
	foreach (cell, shard_group_tables(anchor))
	{
		const DistTable *member = dist_table_require(lfirst_oid(cell));
		int64 size = shard_size(member, shard->index);
		bool nulls[15] = {0};
		Datum values[15];

		values[0] = Int32GetDatum(entry->pid);
		values[1] = ObjectIdGetDatum(member->relid);
		values[2] = Int64GetDatum(member->shards[shard->index].id);
		values[3] = Int64GetDatum(size);
		values[4] = CStringGetTextDatum(source->host);
		values[5] = Int32GetDatum(source->port);
		values[6] = CStringGetTextDatum(target->host);
		values[7] = Int32GetDatum(target->port);
		values[8] = Int64GetDatum(steps[entry->step].progress);
		values[9] = Int64GetDatum(size);

		/* The target's tables belong to an open transaction: nobody sees their size. */
		values[10] = Int64GetDatum(entry->step == MOVE_COMPLETED ? size : 0);
		values[11] = CStringGetTextDatum(operations[entry->kind]);
		nulls[12] = nulls[13] = true;
		values[14] = CStringGetTextDatum(steps[entry->step].status);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

Datum
get_rebalance_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Entry *entries = palloc(sizeof(Entry) * MAX_ENTRIES);

	InitMaterializedSRF(fcinfo, 0);
	LWLockAcquire(table_lock, LW_SHARED);
	memcpy(entries, table->entries, sizeof(Entry) * MAX_ENTRIES);
	LWLockRelease(table_lock);

	for (int i = 0; i < MAX_ENTRIES; i++)
	{
		if (entries[i].pid != 0 && entries[i].database == MyDatabaseId)
			put_rows(result, &entries[i]);
	}
	return (Datum) 0;
}
