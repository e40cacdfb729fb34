/*
 * move_progress.c: what get_rebalance_progress() shows of moves under way.
 *
 * A fixed table in shared memory, one entry per shard group to move, guarded by one lock.
 * A backend frees its entries when its transaction or it itself ends. Moves beyond the
 * size of the table are not shown. What is counted of rows is told from time to time.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "pando/base/int_map.h"
#include "pando/base/name.h"
#include "pando/base/shared_memory.h"
#include "pando/cluster/move_progress.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

#define MAX_ENTRIES 1024

/* So many bytes are counted before others are told. */
#define TELL_BYTES (256 * 1024)

PG_FUNCTION_INFO_V1(get_rebalance_progress);
PG_FUNCTION_INFO_V1(move_progress);

typedef struct Entry
{
	int pid; /* 0: free */
	Oid database;
	int64 shard_id;
	int32 source; /* node ids */
	int32 target;
	MoveKind kind;
	MoveStep step;
	int64 rows; /* that have come to the targets, and their bytes as COPY has them */
	int64 bytes;
	TimestampTz started;
	TimestampTz first_rows; /* 0: none yet */
	TimestampTz last_rows;
	XLogRecPtr lsn; /* of the source, which the targets are at; 0: none yet */
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

/* What this backend has counted since it told, for its entry that is under way. */
static Entry *current = NULL;
static int64 untold_rows = 0;
static int64 untold_bytes = 0;

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
	current = NULL;
	untold_rows = untold_bytes = 0;
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
move_progress_forget(int64 shard_id)
{
	Entry *entry;

	LWLockAcquire(table_lock, LW_EXCLUSIVE);
	entry = entry_find(shard_id, false);
	if (entry != NULL)
		entry->pid = 0;
	if (entry == current)
		current = NULL;
	LWLockRelease(table_lock);
}

/* The lock is held. */
static void
tell_rows(void)
{
	if (current != NULL && untold_rows > 0)
	{
		current->rows += untold_rows;
		current->bytes += untold_bytes;
		current->last_rows = GetCurrentTimestamp();
	}
	untold_rows = untold_bytes = 0;
}

void
move_progress_row(int bytes)
{
	if (current == NULL)
		return;
	untold_rows++;
	untold_bytes += bytes;
	if (untold_bytes < TELL_BYTES)
		return;
	LWLockAcquire(table_lock, LW_EXCLUSIVE);
	tell_rows();
	LWLockRelease(table_lock);
}

void
move_progress_caught_up(XLogRecPtr lsn)
{
	LWLockAcquire(table_lock, LW_EXCLUSIVE);
	tell_rows();
	if (current != NULL)
		current->lsn = lsn;
	LWLockRelease(table_lock);
}

void
move_progress_set(int64 shard_id, MoveStep step)
{
	Entry *entry;

	LWLockAcquire(table_lock, LW_EXCLUSIVE);
	tell_rows();
	entry = entry_find(shard_id, false);
	current = entry;
	if (entry != NULL)
	{
		entry->step = step;
		if (entry->started == 0)
			entry->started = GetCurrentTimestamp();
		if (step == MOVE_COPYING_DATA && entry->first_rows == 0)
			entry->first_rows = entry->last_rows = GetCurrentTimestamp();
	}
	LWLockRelease(table_lock);
}

/* ------------------------------------------------------------------------------------
 * What is shown.
 */

/* A shard of a group that moves. */
typedef struct ProgressRow
{
	const Entry *entry;
	Oid relid;
	int64 shard_id;
	const DistNode *source;
	const DistNode *target;
	char *source_size; /* NULL: not known now, as the next ones */
	char *target_size;
	char *source_lsn;
} ProgressRow;

/* A node's sizes of shards: the question, and where the answers go. */
typedef struct SizeQuestion
{
	const DistNode *node;
	StringInfoData names;
	List *answers; /* char ** */
	char *lsn;	   /* how far its WAL is; NULL: not known */
} SizeQuestion;

/* One row per shard of the group that the entry is about. */
static List *
add_rows(List *rows, const Entry *entry)
{
	const DistTable *anchor;
	const Shard *shard = shard_by_id(entry->shard_id, &anchor);
	const DistNode *source = node_by_id(entry->source);
	const DistNode *target = node_by_id(entry->target);
	ListCell *cell;

	if (shard == NULL || source == NULL || target == NULL)
		return rows;
	foreach (cell, shard_group_tables(anchor))
	{
		const DistTable *member = dist_table_require(lfirst_oid(cell));
		ProgressRow *row = palloc0(sizeof(ProgressRow));

		row->entry = entry;
		row->relid = member->relid;
		row->shard_id = member->shards[shard->index].id;
		row->source = source;
		row->target = target;
		rows = lappend(rows, row);
	}
	return rows;
}

static List *
add_question(List *questions, IntMap *by_group, const DistNode *node,
			 const ProgressRow *row, char **answer)
{
	SizeQuestion **at = (SizeQuestion **) int_map_at(by_group, node->group);

	if (*at == NULL)
	{
		*at = palloc0(sizeof(SizeQuestion));
		(*at)->node = node;
		initStringInfo(&(*at)->names);
		questions = lappend(questions, *at);
	}
	appendStringInfo(&(*at)->names, "%s%s", (*at)->answers == NIL ? "" : ", ",
					 quote_literal_cstr(name_shard_qualified(row->relid, row->shard_id)));
	(*at)->answers = lappend((*at)->answers, answer);
	return questions;
}

/* "12,-,13;0/1" of a node; NULL: it can't be asked now. */
static void
take_answers(SizeQuestion *question, char *answer_text)
{
	char *sizes = answer_text == NULL ? NULL : strsep(&answer_text, ";");
	ListCell *cell;

	question->lsn = answer_text;

	foreach (cell, question->answers)
	{
		char **answer = lfirst(cell);
		char *size = sizes == NULL ? NULL : strsep(&sizes, ",");

		*answer = size == NULL || size[0] < '0' || size[0] > '9' ? NULL : size;
	}
}

/* Asks all nodes at once. Nobody waits: not for a node that is away, nor for the switch
 * of a move, whose tables are locked. */
static void
ask_sizes(List *rows)
{
	IntMap *by_group = int_map_create();
	List *questions = NIL;
	List *nodes = NIL;
	List *commands = NIL;
	ListCell *answer;
	ListCell *cell;

	foreach_ptr (ProgressRow, row, rows)
	{
		questions =
			add_question(questions, by_group, row->source, row, &row->source_size);
		questions =
			add_question(questions, by_group, row->target, row, &row->target_size);
	}
	foreach_ptr (SizeQuestion, question, questions)
	{
		nodes = lappend(nodes, unconstify(DistNode *, question->node));
		commands =
			lappend(commands, psprintf("SELECT pando.sizes_unless_locked(ARRAY[%s]) || "
									   "';' || pg_catalog.pg_current_wal_insert_lsn()",
									   question->names.data));
	}
	forboth(answer, xact_values_for_plan(nodes, commands), cell, questions)
		take_answers(lfirst(cell), lfirst(answer));
	foreach_ptr (ProgressRow, row, rows)
		row->source_lsn =
			((SizeQuestion *) *int_map_at(by_group, row->source->group))->lsn;
}

static void
put_row(ReturnSetInfo *result, const ProgressRow *row)
{
	const Entry *entry = row->entry;
	bool nulls[15] = {0};
	Datum values[15];

	values[0] = Int32GetDatum(entry->pid);
	values[1] = ObjectIdGetDatum(row->relid);
	values[2] = Int64GetDatum(row->shard_id);
	nulls[3] = nulls[9] = row->source_size == NULL;
	if (row->source_size != NULL)
		values[3] = values[9] = Int64GetDatum(pg_strtoint64(row->source_size));
	values[4] = CStringGetTextDatum(row->source->host);
	values[5] = Int32GetDatum(row->source->port);
	values[6] = CStringGetTextDatum(row->target->host);
	values[7] = Int32GetDatum(row->target->port);
	values[8] = Int64GetDatum(steps[entry->step].progress);
	nulls[10] = row->target_size == NULL;
	if (row->target_size != NULL)
		values[10] = Int64GetDatum(pg_strtoint64(row->target_size));
	values[11] = CStringGetTextDatum(operations[entry->kind]);
	/* Once there is something to compare it with. */
	nulls[12] = row->source_lsn == NULL || entry->lsn == InvalidXLogRecPtr;
	if (!nulls[12])
		values[12] = DirectFunctionCall1(pg_lsn_in, CStringGetDatum(row->source_lsn));
	nulls[13] = entry->lsn == InvalidXLogRecPtr;
	values[13] = LSNGetDatum(entry->lsn);
	values[14] = CStringGetTextDatum(steps[entry->step].status);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* A copy of the table; what is of this database and not free counts. */
static Entry *
look_at_entries(void)
{
	Entry *entries = palloc(sizeof(Entry) * MAX_ENTRIES);

	LWLockAcquire(table_lock, LW_SHARED);
	memcpy(entries, table->entries, sizeof(Entry) * MAX_ENTRIES);
	LWLockRelease(table_lock);
	for (int i = 0; i < MAX_ENTRIES; i++)
	{
		if (entries[i].database != MyDatabaseId)
			entries[i].pid = 0;
	}
	return entries;
}

/*
 * Sizes are those on disk at the moment; NULL where they can't be had without waiting.
 * The target's tables of a move that blocks writers belong to an open transaction: their
 * size is 0 until it ends. An online move's target is as of target_lsn of the source.
 */
Datum
get_rebalance_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Entry *entries = look_at_entries();
	List *rows = NIL;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < MAX_ENTRIES; i++)
	{
		if (entries[i].pid != 0)
			rows = add_rows(rows, &entries[i]);
	}
	if (rows != NIL)
		ask_sizes(rows);
	foreach_ptr (ProgressRow, row, rows)
		put_row(result, row);
	return (Datum) 0;
}

/*
 * pando.move_progress(): per shard group that moves, the rows that have come to its
 * targets, in all tables, and how fast they came while there were any.
 */
Datum
move_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Entry *entries = look_at_entries();

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < MAX_ENTRIES; i++)
	{
		const Entry *entry = &entries[i];
		double seconds = (entry->last_rows - entry->first_rows) / 1000000.0;
		bool nulls[6] = {0};
		Datum values[6];

		if (entry->pid == 0)
			continue;
		values[0] = Int32GetDatum(entry->pid);
		values[1] = Int64GetDatum(entry->shard_id);
		values[2] = Int64GetDatum(entry->rows);
		values[3] = Int64GetDatum(entry->bytes);
		nulls[4] = seconds <= 0;
		values[4] = Int64GetDatum(nulls[4] ? 0 : (int64) (entry->bytes / seconds));
		nulls[5] = entry->started == 0;
		values[5] = TimestampTzGetDatum(entry->started);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
