/*
 * move_row.c: puts the rows that an online move sends into the shard that is to be.
 *
 * The rows are copied into a temporary table whose triggers, all of them move_row(), keep
 * it empty: before the statement the shard is opened, each row goes into it and its
 * indexes, and the pair of its places, there and here, into another temporary table.
 * After the statement all is closed. The rows satisfy constraints, for they come from a
 * shard that has them; columns are found by name.
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

/* A relation that gets rows. */
typedef struct Sink
{
	ResultRelInfo *info;
	TupleTableSlot *slot;
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
	sink->slot = table_slot_create(rel, &estate->es_tupleTable);
	sink->bulk = GetBulkInsertState();
}

static void
sink_put(Sink *sink, EState *estate)
{
	Relation rel = sink->info->ri_RelationDesc;

	ExecStoreVirtualTuple(sink->slot);
	sink->slot->tts_tableOid = RelationGetRelid(rel);
	if (rel->rd_att->constr != NULL && rel->rd_att->constr->has_generated_stored)
		ExecComputeStoredGenerated(sink->info, estate, sink->slot, CMD_INSERT);
	table_tuple_insert(rel, sink->slot, GetCurrentCommandId(true), 0, sink->bulk);
	if (sink->info->ri_NumIndices > 0)
		list_free(ExecInsertIndexTuples(sink->info, sink->slot, estate, false, false,
										NULL, NIL));
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

static void
receiver_put(TupleTableSlot *row)
{
	EState *estate = receiver->estate;
	TupleTableSlot *shard = receiver->shard.slot;
	TupleTableSlot *places = receiver->places.slot;
	MemoryContext old;

	ResetPerTupleExprContext(estate);
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	slot_getallattrs(row);
	ExecClearTuple(shard);
	for (int i = 0; i < shard->tts_tupleDescriptor->natts; i++)
	{
		int from = receiver->column[i];

		shard->tts_isnull[i] = from < 0 || row->tts_isnull[from];
		shard->tts_values[i] = from < 0 ? (Datum) 0 : row->tts_values[from];
	}
	sink_put(&receiver->shard, estate);

	ExecClearTuple(places);
	places->tts_values[0] = row->tts_values[0];
	places->tts_values[1] = PointerGetDatum(&shard->tts_tid);
	places->tts_isnull[0] = row->tts_isnull[0];
	places->tts_isnull[1] = false;
	sink_put(&receiver->places, estate);
	MemoryContextSwitchTo(old);
}

static void
receiver_close(void)
{
	Receiver *closed = receiver;

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
