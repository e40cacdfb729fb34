/*
 * shard_insert.c: inserting rows into the shards that this very node holds.
 *
 * A *target* is one shard, opened when its first row comes, with an executor state of its
 * own: constraints, indexes, triggers, generated columns and the routing of a partitioned
 * shard's rows are the executor's work. Each table that gets rows (the shard, or a
 * partition of it) has a *batch*; the rows of all batches wait in one queue until it is
 * large enough, are sorted by their batches then (a counting sort), and written with
 * table_multi_insert through the same slots. Shards with many partitions have thousands
 * of batches of few rows: what is touched per row is little and stays in the processor's
 * cache. Tables with BEFORE ROW triggers get their rows one by one.
 *
 * All rows belong to one level of AFTER triggers, begun in shard_insert_begin() and fired
 * in shard_insert_end(): foreign keys see the whole statement, as they do in PostgreSQL.
 * So calls must nest properly with other statements of the backend.
 *
 * A shard may have other column numbers than its shell (the shell's dropped columns), so
 * rows are mapped by name.
 */
#include "pando/compat/compat.h"

#include "access/attmap.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/trigger.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "parser/parse_relation.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/compat/executor.h"
#include "pando/compat/rights.h"
#include "pando/base/name.h"
#include "pando/copy/shard_insert.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/transaction/xact.h"

#define BATCH_ROWS 1000 /* that are written at once */
/* Where there are more tables than rows for them in a flush, so many each are waited for,
 * in up to so many times the memory. With 8 instead COPY into 3,200 partitions takes a
 * quarter longer. */
#define FEW_ROWS 24
#define MORE_MEMORY 8
/* A partition that gets fewer rows in a flush has no free space map made for it. */
#define MAPPED_ROWS 64
/* A row is fetched into the cache so many before it is written: a tenth of the time where
 * there are 3,200 tables. */
#define FETCHED_AHEAD 8

/* citus.local_copy_flush_threshold, in kB */
static int flush_threshold_kb = 512;

/* A table that gets rows. */
typedef struct Batch
{
	struct Target *target;
	ResultRelInfo *relinfo;
	BulkInsertState bulk; /* NULL for a partition: it keeps a page pinned, and has a ring
						   * of buffers, for which there may be too many of them */
	int number;
	bool waits;		  /* its rows do; else each is stored when it comes */
	bool is_plain;	  /* row_check() has nothing to do for its rows */
	bool is_unmapped; /* a partition without a free space map */
} Batch;

typedef struct QueuedRow
{
	HeapTuple tuple;
	uint64 line;
	int batch; /* its number */
} QueuedRow;

/* One shard. */
typedef struct Target
{
	EState *estate;
	ModifyTableState *state;
	ResultRelInfo *relinfo;			/* the shard itself */
	PartitionTupleRouting *routing; /* NULL unless the shard is partitioned */
	AttrMap *map;					/* shell to shard; NULL: same shape */
	TupleTableSlot *mapped;			/* a row in the shard's shape, when map is set */
	TupleTableSlot *single;			/* a row that is not batched */
	BulkInsertState single_bulk;
	bool may_batch;
} Target;

struct ShardInsert
{
	const DistTable *table;
	Relation shell;
	CopyLine *line;
	MemoryContext context;
	Target **targets; /* by shard index */
	CommandId command;
	EState *trigger_estate;
	Batch **batches; /* by number */
	int *waiting;	 /* rows of each; all zero while the queue is empty */
	int nbatches;
	int max_batches;
	int nfilled;		  /* batches that have rows */
	MemoryContext tuples; /* of the queue; emptied when they are written */
	QueuedRow *queue;	  /* as they came */
	QueuedRow *sorted;	  /* for writing them; FETCHED_AHEAD longer */
	Size queued_rows;
	Size max_rows;
	Size queued_bytes;
	TupleTableSlot
		*slots[BATCH_ROWS]; /* of tables shaped like slots[0]'s, from the start */
	uint64 inserted;
};

static Target *target_open(ShardInsert *insert, const Shard *shard);
static void target_close(Target *target);
static Batch *batch_for(ShardInsert *insert, Target *target, ResultRelInfo *relinfo);
static void insert_one(ShardInsert *insert, Target *target, ResultRelInfo *relinfo,
					   TupleTableSlot *row);
static void flush_all(ShardInsert *insert);

void
shard_insert_init(void)
{
	DefineCustomIntVariable(
		"citus.local_copy_flush_threshold",
		"Bytes of rows gathered before they are written to this node's "
		"own shards.",
		NULL, &flush_threshold_kb, 512, 1, INT_MAX / 1024, PGC_USERSET,
		GUC_UNIT_KB | GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

ShardInsert *
shard_insert_begin(const DistTable *table, Relation shell, CopyLine *line)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "shard insert",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ShardInsert *insert = palloc0(sizeof(ShardInsert));

	insert->table = table;
	insert->shell = shell;
	insert->line = line;
	insert->context = context;
	insert->targets = palloc0(sizeof(Target *) * table->nshards);
	insert->command = GetCurrentCommandId(true);
	insert->tuples = GenerationContextCreate(
		context, "shard insert rows", ALLOCSET_DEFAULT_MINSIZE, 64 * 1024, 1024 * 1024);
	insert->max_batches = 16;
	insert->batches = palloc(insert->max_batches * sizeof(Batch *));
	insert->waiting = palloc(insert->max_batches * sizeof(int));
	insert->max_rows = 64;
	insert->queue = palloc(insert->max_rows * sizeof(QueuedRow));
	insert->sorted = palloc((insert->max_rows + FETCHED_AHEAD) * sizeof(QueuedRow));
	insert->trigger_estate = CreateExecutorState();
	MemoryContextSwitchTo(old);

	xact_wrote_locally();
	AfterTriggerBeginQuery();
	return insert;
}

/* The shard as the one relation of the executor state's range table. */
static void
target_range_table(Target *target, Relation rel)
{
	TupleDesc desc = RelationGetDescr(rel);
	ParseState *pstate = make_parsestate(NULL);
	ParseNamespaceItem *item =
		addRangeTableEntryForRelation(pstate, rel, RowExclusiveLock, NULL, false, false);
	RelationRights *rights = parse_rights(pstate, item);

	rights->requiredPerms = ACL_INSERT;
	for (int i = 0; i < desc->natts; i++)
		rights->insertedCols = bms_add_member(rights->insertedCols,
											  i + 1 - FirstLowInvalidHeapAttributeNumber);
	compat_init_range_table(target->estate, pstate);
	free_parsestate(pstate);
}

/* May the rows of that table wait, unseen by its triggers? */
static bool
table_may_batch(ResultRelInfo *relinfo)
{
	TriggerDesc *triggers = relinfo->ri_TrigDesc;

	return relinfo->ri_FdwRoutine == NULL &&
		   (triggers == NULL ||
			(!triggers->trig_insert_before_row && !triggers->trig_insert_instead_row));
}

static Target *
target_open(ShardInsert *insert, const Shard *shard)
{
	MemoryContext old = MemoryContextSwitchTo(insert->context);
	Target *target = palloc0(sizeof(Target));
	Relation rel =
		table_open(shard_relation_require(insert->table, shard->id), RowExclusiveLock);
	ModifyTableState *state = makeNode(ModifyTableState);
	ResultRelInfo *relinfo = makeNode(ResultRelInfo);
	TriggerDesc *triggers;

	target->estate = CreateExecutorState();
	MemoryContextSwitchTo(target->estate->es_query_cxt);
	target_range_table(target, rel);
	ExecInitResultRelation(target->estate, relinfo, 1);
	compat_check_insert_target(relinfo);
	ExecOpenIndices(relinfo, false);
	target->relinfo = relinfo;
	triggers = relinfo->ri_TrigDesc;

	state->ps.state = target->estate;
	state->operation = CMD_INSERT;
	state->mt_nrels = 1;
	state->resultRelInfo = relinfo;
	state->rootResultRelInfo = relinfo;
	state->mt_transition_capture =
		MakeTransitionCaptureState(triggers, RelationGetRelid(rel), CMD_INSERT);
	target->state = state;
	if (relinfo->ri_FdwRoutine != NULL && relinfo->ri_FdwRoutine->BeginForeignInsert)
		relinfo->ri_FdwRoutine->BeginForeignInsert(state, relinfo);

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		target->routing = ExecSetupPartitionTupleRouting(target->estate, rel);

	/* Transition tables of a partitioned table are captured row by row, as in COPY. */
	target->may_batch =
		table_may_batch(relinfo) &&
		!(target->routing != NULL && triggers != NULL && triggers->trig_insert_new_table);

	target->map = compat_attrmap_by_name_if_req(RelationGetDescr(insert->shell),
												RelationGetDescr(rel));
	target->mapped =
		MakeSingleTupleTableSlot(RelationGetDescr(rel), table_slot_callbacks(rel));
	target->single =
		MakeSingleTupleTableSlot(RelationGetDescr(rel), table_slot_callbacks(rel));

	table_close(rel, NoLock);
	MemoryContextSwitchTo(old);

	ExecBSInsertTriggers(target->estate, relinfo);
	return target;
}

static void
target_close(Target *target)
{
	if (target->single_bulk != NULL)
		FreeBulkInsertState(target->single_bulk);
	if (target->relinfo->ri_FdwRoutine != NULL &&
		target->relinfo->ri_FdwRoutine->EndForeignInsert)
		target->relinfo->ri_FdwRoutine->EndForeignInsert(target->estate, target->relinfo);
	ExecDropSingleTupleTableSlot(target->mapped);
	ExecDropSingleTupleTableSlot(target->single);
	if (target->routing != NULL)
		ExecCleanupTupleRouting(target->state, target->routing);
	ExecResetTupleTable(target->estate->es_tupleTable, false);
	ExecCloseResultRelations(target->estate);
	ExecCloseRangeTableRelations(target->estate);
	FreeExecutorState(target->estate);
}

static Batch *
batch_for(ShardInsert *insert, Target *target, ResultRelInfo *relinfo)
{
	Relation rel = relinfo->ri_RelationDesc;
	Batch *batch;
	MemoryContext old;

	/* A field that only COPY's own code uses, which never sees this ResultRelInfo. */
	if (relinfo->ri_CopyMultiInsertBuffer != NULL)
		return (Batch *) relinfo->ri_CopyMultiInsertBuffer;

	old = MemoryContextSwitchTo(insert->context);
	batch = palloc0(sizeof(Batch));
	batch->target = target;
	batch->relinfo = relinfo;
	batch->waits = target->may_batch && table_may_batch(relinfo);
	batch->is_plain = rel->rd_att->constr == NULL &&
					  (target->routing != NULL || !rel->rd_rel->relispartition);
	if (batch->waits && target->routing == NULL)
		batch->bulk = GetBulkInsertState();
	else if (batch->waits)
		batch->is_unmapped = !smgrexists(RelationGetSmgr(rel), FSM_FORKNUM);
	batch->number = insert->nbatches++;
	if (batch->number == insert->max_batches)
	{
		insert->max_batches *= 2;
		insert->batches =
			repalloc(insert->batches, insert->max_batches * sizeof(Batch *));
		insert->waiting = repalloc(insert->waiting, insert->max_batches * sizeof(int));
	}
	insert->batches[batch->number] = batch;
	insert->waiting[batch->number] = 0;
	relinfo->ri_CopyMultiInsertBuffer = (struct CopyMultiInsertBuffer *) batch;
	MemoryContextSwitchTo(old);
	return batch;
}

static void
batch_close(Batch *batch)
{
	if (batch->bulk != NULL)
		FreeBulkInsertState(batch->bulk);
	if (batch->waits)
		table_finish_bulk_insert(batch->relinfo->ri_RelationDesc, 0);
}

/* What an INSERT does to a row before it is stored. */
static void
row_check(Target *target, ResultRelInfo *relinfo, TupleTableSlot *row)
{
	TupleConstr *constraints = relinfo->ri_RelationDesc->rd_att->constr;
	bool routed = target->routing != NULL;
	bool changed = relinfo->ri_TrigDesc && relinfo->ri_TrigDesc->trig_insert_before_row;

	if (constraints != NULL && constraints->has_generated_stored)
		ExecComputeStoredGenerated(relinfo, target->estate, row, CMD_INSERT);
	if (constraints != NULL)
		ExecConstraints(relinfo, row, target->estate);
	if (relinfo->ri_RelationDesc->rd_rel->relispartition && (!routed || changed))
		ExecPartitionCheck(relinfo, row, target->estate, true);
}

static void
after_row(Target *target, ResultRelInfo *relinfo, TupleTableSlot *row)
{
	List *recheck = NIL;

	if (relinfo->ri_NumIndices > 0)
		recheck = compat_insert_index_entries(relinfo, row, target->estate);
	ExecARInsertTriggers(target->estate, relinfo, row, recheck,
						 target->state->mt_transition_capture);
	list_free(recheck);
}

/* The row of a foreign table, whose server may leave it out. */
static void
insert_foreign(ShardInsert *insert, Target *target, ResultRelInfo *relinfo,
			   TupleTableSlot *row)
{
	row = relinfo->ri_FdwRoutine->ExecForeignInsert(target->estate, relinfo, row, NULL);
	if (row == NULL)
		return;
	row->tts_tableOid = RelationGetRelid(relinfo->ri_RelationDesc);
	after_row(target, relinfo, row);
	insert->inserted++;
}

/* Stores one row at once. */
static void
insert_one(ShardInsert *insert, Target *target, ResultRelInfo *relinfo,
		   TupleTableSlot *row)
{
	if (relinfo->ri_TrigDesc != NULL && relinfo->ri_TrigDesc->trig_insert_before_row &&
		!ExecBRInsertTriggers(target->estate, relinfo, row))
		return;

	row_check(target, relinfo, row);
	if (relinfo->ri_FdwRoutine != NULL)
	{
		insert_foreign(insert, target, relinfo, row);
		return;
	}
	if (target->single_bulk == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(target->estate->es_query_cxt);

		target->single_bulk = GetBulkInsertState();
		MemoryContextSwitchTo(old);
	}
	ReleaseBulkInsertStatePin(target->single_bulk);
	table_tuple_insert(relinfo->ri_RelationDesc, row, insert->command, 0,
					   target->single_bulk);
	after_row(target, relinfo, row);
	insert->inserted++;
}

static bool
queue_is_full(const ShardInsert *insert)
{
	Size threshold = flush_threshold_kb * (Size) 1024;

	return insert->queued_bytes >= threshold &&
		   (insert->queued_rows >= (Size) insert->nfilled * FEW_ROWS ||
			insert->queued_bytes / MORE_MEMORY >= threshold);
}

/* Copies the row to the end of the queue. */
static void
queue_add(ShardInsert *insert, const Batch *batch, TupleTableSlot *row)
{
	MemoryContext old = MemoryContextSwitchTo(insert->tuples);
	QueuedRow *queued;

	if (insert->queued_rows == insert->max_rows)
	{
		insert->max_rows *= 2;
		insert->queue =
			repalloc_huge(insert->queue, insert->max_rows * sizeof(QueuedRow));
		insert->sorted = repalloc_huge(
			insert->sorted, (insert->max_rows + FETCHED_AHEAD) * sizeof(QueuedRow));
	}
	queued = &insert->queue[insert->queued_rows++];
	queued->tuple = ExecCopySlotHeapTuple(row);
	queued->line = insert->line->number;
	queued->batch = batch->number;
	insert->queued_bytes += queued->tuple->t_len;
	if (insert->waiting[batch->number]++ == 0)
		insert->nfilled++;
	MemoryContextSwitchTo(old);
}

/* Lets a row, which is in the shape of the batch's table, wait. */
static void
insert_batched(ShardInsert *insert, const Batch *batch, TupleTableSlot *row)
{
	if (!batch->is_plain)
	{
		Relation rel = batch->relinfo->ri_RelationDesc;
		TupleConstr *constraints = rel->rd_att->constr;

		/* Generated columns are written into the slot, which is the caller's. */
		if (constraints != NULL && constraints->has_generated_stored &&
			compat_from_root(batch->relinfo, batch->target->estate) == NULL)
			row = ExecCopySlot(batch->target->single, row);
		row->tts_tableOid = RelationGetRelid(rel);
		row_check(batch->target, batch->relinfo, row);
	}
	queue_add(insert, batch, row);
	insert->inserted++;
	if (queue_is_full(insert))
		flush_all(insert);
}

void
shard_insert_row(ShardInsert *insert, int shard_index, TupleTableSlot *row)
{
	Target *target = insert->targets[shard_index];
	ResultRelInfo *relinfo;
	Batch *batch;
	MemoryContext old;

	if (target == NULL)
	{
		target = target_open(insert, &insert->table->shards[shard_index]);
		insert->targets[shard_index] = target;
	}
	relinfo = target->relinfo;
	ResetPerTupleExprContext(target->estate);
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(target->estate));

	if (target->map != NULL)
		row = execute_attr_map_slot(target->map, row, target->mapped);

	if (target->routing != NULL)
	{
		TransitionCaptureState *capture = target->state->mt_transition_capture;
		TupleConversionMap *from_root;

		row->tts_tableOid = RelationGetRelid(relinfo->ri_RelationDesc);
		MemoryContextSwitchTo(old);
		relinfo = ExecFindPartition(target->state, target->relinfo, target->routing, row,
									target->estate);
		MemoryContextSwitchTo(GetPerTupleMemoryContext(target->estate));
		if (capture != NULL)
			capture->tcs_original_insert_tuple = table_may_batch(relinfo) ? row : NULL;
		from_root = compat_from_root(relinfo, target->estate);
		if (from_root != NULL)
			row = execute_attr_map_slot(from_root->attrMap, row,
										relinfo->ri_PartitionTupleSlot);
	}

	batch = batch_for(insert, target, relinfo);
	if (batch->waits)
		insert_batched(insert, batch, row);
	else
	{
		TupleTableSlot *own = row;

		/* Triggers may query the table: they see the rows that came before. */
		if (insert->queued_rows > 0)
			flush_all(insert);
		if (compat_from_root(relinfo, target->estate) == NULL)
			own = ExecCopySlot(target->single, row);
		own->tts_tableOid = RelationGetRelid(relinfo->ri_RelationDesc);
		MemoryContextSwitchTo(old);
		insert_one(insert, target, relinfo, own);
	}
	MemoryContextSwitchTo(old);
}

static void
slots_drop(ShardInsert *insert)
{
	for (int i = 0; i < BATCH_ROWS && insert->slots[i] != NULL; i++)
	{
		ExecDropSingleTupleTableSlot(insert->slots[i]);
		insert->slots[i] = NULL;
	}
}

/* Can rows of one table be in the slots of the other? */
static bool
same_shape(TupleDesc one, TupleDesc other)
{
	if (one->natts != other->natts)
		return false;
	for (int i = 0; i < one->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(one, i);
		Form_pg_attribute b = TupleDescAttr(other, i);

		if (a->atttypid != b->atttypid || a->attlen != b->attlen ||
			a->attalign != b->attalign || a->attisdropped != b->attisdropped)
			return false;
	}
	return true;
}

/* At least so many slots for rows of the table: those of the last batch where they fit.
 */
static TupleTableSlot **
slots_for(ShardInsert *insert, Relation rel, int count)
{
	TupleTableSlot **slots = insert->slots;
	const TupleTableSlotOps *ops = table_slot_callbacks(rel);
	MemoryContext old = MemoryContextSwitchTo(insert->context);

	/* A buffer's slot would copy the tuple, and heap takes rows from any kind of slot. */
	if (ops == &TTSOpsBufferHeapTuple)
		ops = &TTSOpsHeapTuple;

	if (slots[0] != NULL &&
		(slots[0]->tts_ops != ops ||
		 !same_shape(slots[0]->tts_tupleDescriptor, RelationGetDescr(rel))))
		slots_drop(insert);
	if (slots[0] == NULL)
		slots[0] =
			MakeSingleTupleTableSlot(CreateTupleDescCopy(RelationGetDescr(rel)), ops);
	for (int i = 1; i < count; i++)
	{
		if (slots[i] == NULL)
			slots[i] = MakeSingleTupleTableSlot(slots[0]->tts_tupleDescriptor, ops);
	}
	MemoryContextSwitchTo(old);
	return slots;
}

/* Writes rows of one batch, BATCH_ROWS at most. */
static void
write_rows(ShardInsert *insert, const Batch *batch, const QueuedRow *rows, int nrows)
{
	EState *estate = batch->target->estate;
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	Relation rel = batch->relinfo->ri_RelationDesc;
	TupleTableSlot **slots = slots_for(insert, rel, nrows);
	bool unmapped = batch->is_unmapped && nrows < MAPPED_ROWS;

	for (int i = 0; i < nrows; i++)
	{
		__builtin_prefetch(rows[i + FETCHED_AHEAD].tuple);
		ExecForceStoreHeapTuple(rows[i].tuple, slots[i], true);
	}
	insert->line->number = rows[0].line;
	table_multi_insert(rel, slots, nrows, insert->command,
					   unmapped ? TABLE_INSERT_SKIP_FSM : 0, batch->bulk);
	MemoryContextSwitchTo(old);

	for (int i = 0; i < nrows; i++)
	{
		insert->line->number = rows[i].line;
		after_row(batch->target, batch->relinfo, slots[i]);
		ExecClearTuple(slots[i]);
	}
}

/* Puts the queue in the order of the batches; waiting[] becomes where each one ends. */
static void
queue_sort(ShardInsert *insert)
{
	int end = 0;

	for (int i = 0; i < insert->nbatches; i++)
	{
		int rows = insert->waiting[i];

		insert->waiting[i] = end;
		end += rows;
	}
	for (Size i = 0; i < insert->queued_rows; i++)
		insert->sorted[insert->waiting[insert->queue[i].batch]++] = insert->queue[i];
}

/* Writes all batches. Errors name the line of the row that caused them. */
static void
flush_all(ShardInsert *insert)
{
	uint64 line = insert->line->number;
	CopyFromState source = insert->line->source;
	int at = 0;

	insert->line->source = NULL;
	queue_sort(insert);
	for (int i = 0; i < insert->nbatches; i++)
	{
		for (int end = insert->waiting[i], n; at < end; at += n)
		{
			n = Min(end - at, BATCH_ROWS);
			write_rows(insert, insert->batches[i], &insert->sorted[at], n);
		}
		insert->waiting[i] = 0;
	}
	insert->nfilled = 0;
	MemoryContextReset(insert->tuples);
	insert->queued_rows = 0;
	insert->queued_bytes = 0;
	insert->line->number = line;
	insert->line->source = source;
}

uint64
shard_insert_end(ShardInsert *insert)
{
	uint64 inserted;

	flush_all(insert);
	insert->line->number = 0;

	for (int i = 0; i < insert->table->nshards; i++)
	{
		Target *target = insert->targets[i];

		if (target != NULL)
			ExecASInsertTriggers(target->estate, target->relinfo,
								 target->state->mt_transition_capture);
	}
	AfterTriggerEndQuery(insert->trigger_estate);

	for (int i = 0; i < insert->nbatches; i++)
		batch_close(insert->batches[i]);
	for (int i = 0; i < insert->table->nshards; i++)
	{
		if (insert->targets[i] != NULL)
			target_close(insert->targets[i]);
	}
	ExecResetTupleTable(insert->trigger_estate->es_tupleTable, false);
	ExecCloseResultRelations(insert->trigger_estate);
	FreeExecutorState(insert->trigger_estate);

	slots_drop(insert);
	inserted = insert->inserted;
	MemoryContextDelete(insert->context);
	return inserted;
}
