/*
 * move_row.c: puts the rows that an online move sends into the shard that is to be.
 *
 * The rows are copied into a temporary table whose triggers, all of them move_row(), keep
 * it empty: before the statement the shard is opened, rows go into it and its indexes,
 * and the pairs of their places, there and here, into another temporary table, many at a
 * time, as COPY does it. After the statement all is closed. The rows satisfy constraints,
 * for they come from a shard that has them; columns are found by name.
 */
#include "pando/compat/compat.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(move_row);

/* Rows are kept until there are so many, or so many bytes of them: what COPY takes. */
#define KEPT_ROWS 1000
#define KEPT_BYTES 65535

/* A relation that gets rows. */
typedef struct Sink
{
	ResultRelInfo *info;
	TupleTableSlot *slots[KEPT_ROWS]; /* made when they are first needed */
	BulkInsertState bulk;
} Sink;

/* The statement that receives. */
typedef struct Receiver
{
	MemoryContext context;
	Oid rows; /* the temporary table */
	EState *estate;
	Sink shard;
	Sink places;
	int kept;						  /* rows that are in slots of the shard's */
	int64 bytes;					  /* of them */
	ItemPointerData there[KEPT_ROWS]; /* their places on the source */
	int *column; /* per column of the shard: of the row, 0-based; -1: none */
} Receiver;

static Receiver *receiver = NULL;

static void
receiver_forget(void *arg)
{
	receiver = NULL;
}

static void
refuse(const char *why)
{
	ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
					errmsg("rows of a moved shard can't be received: %s", why)));
}

static void
sink_open(Sink *sink, EState *estate, Oid relid)
{
	Relation rel = table_open(relid, RowExclusiveLock);

	if (rel->rd_rel->relkind != RELKIND_RELATION)
		refuse("the target is not a table");
	if (!pg_class_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, RelationGetRelationName(rel));
	sink->info = makeNode(ResultRelInfo);
	InitResultRelInfo(sink->info, rel, 1, NULL, 0);
	ExecOpenIndices(sink->info, false);
	sink->bulk = GetBulkInsertState();
}

/* The slot for the next row, empty. */
static TupleTableSlot *
sink_slot(Sink *sink, EState *estate, int index)
{
	Relation rel = sink->info->ri_RelationDesc;

	if (sink->slots[index] == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

		sink->slots[index] = table_slot_create(rel, &estate->es_tupleTable);
		MemoryContextSwitchTo(old);
	}
	return ExecClearTuple(sink->slots[index]);
}

/* The first rows of the slots go into the relation and its indexes. */
static void
sink_put(Sink *sink, EState *estate, int count)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));

	table_multi_insert(sink->info->ri_RelationDesc, sink->slots, count,
					   GetCurrentCommandId(true), 0, sink->bulk);
	for (int i = 0; sink->info->ri_NumIndices > 0 && i < count; i++)
	{
		ResetPerTupleExprContext(estate);
		ExecInsertIndexTuples(sink->info, sink->slots[i], estate, false, false, NULL,
							  NIL);
	}
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(estate);
}

static void
sink_close(Sink *sink)
{
	FreeBulkInsertState(sink->bulk);
	ExecCloseIndices(sink->info);
	table_close(sink->info->ri_RelationDesc, NoLock);
}

static int
column_of(TupleDesc rows, Form_pg_attribute wanted)
{
	for (int i = 1; i < rows->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(rows, i);

		if (strcmp(NameStr(column->attname), NameStr(wanted->attname)) != 0)
			continue;
		if (column->atttypid != wanted->atttypid)
			refuse("a column has another type");
		return i;
	}
	return -1;
}

static void
receiver_open(TriggerData *trigger)
{
	MemoryContext context =
		AllocSetContextCreate(CurTransactionContext, "move row", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	MemoryContextCallback *forget = palloc0(sizeof(MemoryContextCallback));
	TupleDesc rows = RelationGetDescr(trigger->tg_relation);
	Receiver *opened = palloc0(sizeof(Receiver));
	TupleDesc desc;

	if (receiver != NULL || trigger->tg_trigger->tgnargs != 2)
		refuse("it is not a move that calls");
	opened->context = context;
	opened->rows = RelationGetRelid(trigger->tg_relation);
	opened->estate = CreateExecutorState();
	sink_open(&opened->shard, opened->estate,
			  DatumGetObjectId(DirectFunctionCall1(
				  oidin, CStringGetDatum(trigger->tg_trigger->tgargs[0]))));
	sink_open(&opened->places, opened->estate,
			  DatumGetObjectId(DirectFunctionCall1(
				  oidin, CStringGetDatum(trigger->tg_trigger->tgargs[1]))));
	desc = RelationGetDescr(opened->places.info->ri_RelationDesc);
	if (desc->natts != 2 || TupleDescAttr(desc, 0)->atttypid != TIDOID ||
		TupleDescAttr(desc, 1)->atttypid != TIDOID || rows->natts < 1 ||
		TupleDescAttr(rows, 0)->atttypid != TIDOID)
		refuse("tables have other columns");

	desc = RelationGetDescr(opened->shard.info->ri_RelationDesc);
	opened->column = palloc(sizeof(int) * (desc->natts + 1));
	for (int i = 0; i < desc->natts; i++)
		opened->column[i] = TupleDescAttr(desc, i)->attisdropped
								? -1
								: column_of(rows, TupleDescAttr(desc, i));

	forget->func = receiver_forget;
	MemoryContextRegisterResetCallback(context, forget);
	receiver = opened;
	MemoryContextSwitchTo(old);
}

/* What is kept goes where it belongs. */
static void
receiver_flush(void)
{
	EState *estate = receiver->estate;
	int count = receiver->kept;

	if (count == 0)
		return;
	sink_put(&receiver->shard, estate, count);
	for (int i = 0; i < count; i++)
	{
		TupleTableSlot *place = sink_slot(&receiver->places, estate, i);

		place->tts_values[0] = PointerGetDatum(&receiver->there[i]);
		place->tts_values[1] = PointerGetDatum(&receiver->shard.slots[i]->tts_tid);
		place->tts_isnull[0] = place->tts_isnull[1] = false;
		ExecStoreVirtualTuple(place);
	}
	sink_put(&receiver->places, estate, count);
	receiver->kept = 0;
	receiver->bytes = 0;
}

static void
receiver_put(TupleTableSlot *row)
{
	EState *estate = receiver->estate;
	Relation rel = receiver->shard.info->ri_RelationDesc;
	TupleTableSlot *slot = sink_slot(&receiver->shard, estate, receiver->kept);

	ResetPerTupleExprContext(estate);
	slot_getallattrs(row);
	if (row->tts_isnull[0])
		refuse("a row has no place");
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		int from = receiver->column[i];

		slot->tts_isnull[i] = from < 0 || row->tts_isnull[from];
		slot->tts_values[i] = from < 0 ? (Datum) 0 : row->tts_values[from];
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(rel);
	if (rel->rd_att->constr != NULL && rel->rd_att->constr->has_generated_stored)
		ExecComputeStoredGenerated(receiver->shard.info, estate, slot, CMD_INSERT);
	ExecMaterializeSlot(slot); /* the row's own memory lasts as long as this call */
	receiver->there[receiver->kept++] =
		*(ItemPointer) DatumGetPointer(row->tts_values[0]);
	receiver->bytes += heap_compute_data_size(slot->tts_tupleDescriptor, slot->tts_values,
											  slot->tts_isnull);
	if (receiver->kept == KEPT_ROWS || receiver->bytes >= KEPT_BYTES)
		receiver_flush();
}

static void
receiver_close(void)
{
	Receiver *closed = receiver;

	receiver_flush();
	sink_close(&closed->shard);
	sink_close(&closed->places);
	ExecResetTupleTable(closed->estate->es_tupleTable, false);
	FreeExecutorState(closed->estate);
	MemoryContextDelete(closed->context); /* forgets the receiver */
}

/* The trigger function; its arguments are the OIDs of the shard and of the table of
 * places. */
Datum
move_row(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		refuse("it is not a trigger that calls");
	if (TRIGGER_FIRED_FOR_STATEMENT(trigger->tg_event))
	{
		if (TRIGGER_FIRED_BEFORE(trigger->tg_event))
			receiver_open(trigger);
		else if (receiver != NULL)
			receiver_close();
		return PointerGetDatum(NULL);
	}
	if (receiver == NULL || receiver->rows != RelationGetRelid(trigger->tg_relation))
		refuse("the shard is not open");
	receiver_put(trigger->tg_trigslot);
	return PointerGetDatum(NULL);
}
