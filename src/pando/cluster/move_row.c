/*
 * move_row.c: puts the rows that a move sends into the shard that is to be, and, for an
 * online one, keeps where they went.
 *
 * The rows are copied into a table that stays empty: COPY to one with a trigger
 * move_row(), which says where they go, is ours. Each row goes into the shard and its
 * indexes, and the pair of its places, there and here, into another table. The
 * rows satisfy constraints, for they come from a shard that has them; columns are found
 * by name.
 *
 * Rows are kept until there are enough to be inserted together, as COPY does it. They are
 * frozen, as in COPY FREEZE: the shard is the move's alone until the switch, after which
 * no older snapshot reads it (executor/arrived.c), and a move that fails takes it away.
 * So neither the index nor readers have to write down for each that it has committed.
 *
 * Places are a table of pairs, or, for all rows at once, one of *blocks*: a row per block
 * of the source, with as many places here as the block has rows, in the order of its line
 * pointers. That takes a tenth of what pairs take, and of the time. Which of the two the
 * columns of the table of places tell.
 */
#include "pando/compat/compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/copy.h"
#include "commands/progress.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "pgstat.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pando/compat/executor.h"
#include "pando/base/hook.h"
#include "pando/cluster/move_part.h"

PG_FUNCTION_INFO_V1(move_row);
PG_FUNCTION_INFO_V1(move_block);
PG_FUNCTION_INFO_V1(move_place);

/* So many rows, or bytes of them, are inserted together. */
#define MAX_ROWS 1000
#define MAX_BYTES (64 * 1024)

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
	EState *estate;
	Sink shard;
	bool placed; /* rows come with their places */
	Sink places; /* if so */
	int *column; /* per column of the shard: of the row, 0-based; -1: none */

	/* Rows that are not in the shard yet, and their places on the source. */
	TupleTableSlot *kept[MAX_ROWS];
	ItemPointerData from[MAX_ROWS];
	int nkept;
	Size bytes;

	/* Places of the block that rows come from now, per line pointer; those without a row
	 * are invalid. */
	bool by_block;
	BlockNumber block;
	ItemPointerData here[MaxHeapTuplesPerPage];
	int nhere;
} Receiver;

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
	sink->info = makeNode(ResultRelInfo);
	InitResultRelInfo(sink->info, rel, 1, NULL, 0);
	ExecOpenIndices(sink->info, false);
	sink->slot = table_slot_create(rel, &estate->es_tupleTable);
	sink->bulk = GetBulkInsertState();
}

/* One row alone. */
static void
sink_put(Sink *sink, EState *estate)
{
	ExecStoreVirtualTuple(sink->slot);
	table_tuple_insert(sink->info->ri_RelationDesc, sink->slot, GetCurrentCommandId(true),
					   0, sink->bulk);
	if (sink->info->ri_NumIndices > 0)
		list_free(compat_insert_index_entries(sink->info, sink->slot, estate));
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
	for (int i = 0; i < rows->natts; i++)
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

static bool
has_columns(TupleDesc desc, Oid first, Oid second)
{
	return desc->natts == 2 && TupleDescAttr(desc, 0)->atttypid == first &&
		   TupleDescAttr(desc, 1)->atttypid == second;
}

static Oid
oid_argument(const Trigger *trigger, int number)
{
	return DatumGetObjectId(
		DirectFunctionCall1(oidin, CStringGetDatum(trigger->tgargs[number])));
}

/* The trigger's arguments are the OIDs of the shard and of the table of places, if there
 * is one. */
static Receiver *
receiver_open(Relation table, const Trigger *trigger)
{
	Receiver *opened = palloc0(sizeof(Receiver));
	TupleDesc rows = RelationGetDescr(table);
	TupleDesc desc;
	Oid shard, places;

	if (trigger->tgnargs != 2 || RELATION_IS_OTHER_TEMP(table) ||
		!move_part_receives(oid_argument(trigger, 0)))
		refuse("it is not a move that calls");
	shard = oid_argument(trigger, 0);
	places = oid_argument(trigger, 1);
	if (!compat_owns_relation(shard, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(shard));
	opened->estate = CreateExecutorState();
	opened->placed = OidIsValid(places);
	sink_open(&opened->shard, opened->estate, shard);
	if (opened->placed)
	{
		sink_open(&opened->places, opened->estate, places);
		desc = RelationGetDescr(opened->places.info->ri_RelationDesc);
		opened->by_block = has_columns(desc, INT8OID, BYTEAOID);
		if ((!opened->by_block && !has_columns(desc, TIDOID, TIDOID)) ||
			rows->natts < 1 || TupleDescAttr(rows, 0)->atttypid != TIDOID)
			refuse("tables have other columns");
	}

	desc = RelationGetDescr(opened->shard.info->ri_RelationDesc);
	opened->column = palloc(sizeof(int) * (desc->natts + 1));
	for (int i = 0; i < desc->natts; i++)
		opened->column[i] = TupleDescAttr(desc, i)->attisdropped
								? -1
								: column_of(rows, TupleDescAttr(desc, i));
	return opened;
}

static void
put_places(Receiver *receiver, Datum there, Datum here)
{
	TupleTableSlot *slot = receiver->places.slot;

	ExecClearTuple(slot);
	slot->tts_values[0] = there;
	slot->tts_values[1] = here;
	slot->tts_isnull[0] = slot->tts_isnull[1] = false;
	sink_put(&receiver->places, receiver->estate);
}

/* The block that rows came from is complete, or others come first. */
static void
put_block(Receiver *receiver)
{
	Size length = VARHDRSZ + receiver->nhere * sizeof(ItemPointerData);
	bytea *rows;

	if (receiver->nhere == 0)
		return;
	rows = palloc(length);
	SET_VARSIZE(rows, length);
	memcpy(VARDATA(rows), receiver->here, length - VARHDRSZ);
	put_places(receiver, Int64GetDatum(receiver->block), PointerGetDatum(rows));
	memset(receiver->here, 0, sizeof(receiver->here));
	receiver->nhere = 0;
}

static void
note_place(Receiver *receiver, ItemPointer there, ItemPointer here)
{
	OffsetNumber offset;

	if (!receiver->by_block)
	{
		put_places(receiver, PointerGetDatum(there), PointerGetDatum(here));
		return;
	}
	if (ItemPointerGetBlockNumberNoCheck(there) != receiver->block)
		put_block(receiver);
	offset = ItemPointerGetOffsetNumberNoCheck(there);
	if (offset < FirstOffsetNumber || offset > MaxHeapTuplesPerPage)
		refuse("a row has no place");
	receiver->block = ItemPointerGetBlockNumberNoCheck(there);
	receiver->here[offset - 1] = *here;
	receiver->nhere = Max(receiver->nhere, offset);
}

/* The rows that were kept go into the shard. */
static void
put_kept(Receiver *receiver)
{
	EState *estate = receiver->estate;
	ResultRelInfo *info = receiver->shard.info;
	MemoryContext old;

	if (receiver->nkept == 0)
		return;
	ResetPerTupleExprContext(estate);
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	table_multi_insert(info->ri_RelationDesc, receiver->kept, receiver->nkept,
					   GetCurrentCommandId(true), TABLE_INSERT_FROZEN,
					   receiver->shard.bulk);
	for (int i = 0; i < receiver->nkept; i++)
	{
		TupleTableSlot *row = receiver->kept[i];

		if (info->ri_NumIndices > 0)
			list_free(compat_insert_index_entries(info, row, estate));
		if (receiver->placed)
			note_place(receiver, &receiver->from[i], &row->tts_tid);
		ExecClearTuple(row);
	}
	MemoryContextSwitchTo(old);
	receiver->nkept = 0;
	receiver->bytes = 0;
}

/* A slot for one more row of the shard. */
static TupleTableSlot *
next_kept(Receiver *receiver)
{
	TupleTableSlot **slot = &receiver->kept[receiver->nkept];

	if (*slot == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(receiver->estate->es_query_cxt);

		*slot = table_slot_create(receiver->shard.info->ri_RelationDesc,
								  &receiver->estate->es_tupleTable);
		MemoryContextSwitchTo(old);
	}
	return ExecClearTuple(*slot);
}

/* One row, as COPY has read it; in the memory of one row. */
static void
receiver_put(Receiver *receiver, const Datum *values, const bool *isnull)
{
	Relation shard = receiver->shard.info->ri_RelationDesc;
	TupleTableSlot *slot = next_kept(receiver);

	if (receiver->placed && isnull[0])
		refuse("a row has no place");
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		int from = receiver->column[i];

		slot->tts_isnull[i] = from < 0 || isnull[from];
		slot->tts_values[i] = from < 0 ? (Datum) 0 : values[from];
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(shard);
	if (shard->rd_att->constr != NULL && shard->rd_att->constr->has_generated_stored)
		ExecComputeStoredGenerated(receiver->shard.info, receiver->estate, slot,
								   CMD_INSERT);
	ExecMaterializeSlot(slot);

	if (receiver->placed)
		receiver->from[receiver->nkept] = *(ItemPointer) DatumGetPointer(values[0]);
	receiver->nkept++;
	receiver->bytes += ExecFetchSlotHeapTuple(slot, false, NULL)->t_len;
	if (receiver->nkept == MAX_ROWS || receiver->bytes > MAX_BYTES)
		put_kept(receiver);
}

static void
receiver_close(Receiver *receiver)
{
	put_kept(receiver);
	put_block(receiver);
	sink_close(&receiver->shard);
	if (receiver->placed)
		sink_close(&receiver->places);
	ExecResetTupleTable(receiver->estate->es_tupleTable, false);
	FreeExecutorState(receiver->estate);
}

/* ------------------------------------------------------------------------------------
 * Blocks.
 */

/* pando.move_block(tid): the number of the block. */
Datum
move_block(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(ItemPointerGetBlockNumberNoCheck((ItemPointer) PG_GETARG_POINTER(0)));
}

/* pando.move_place(bytea, tid): where the row of that place in the block went; NULL if it
 * was not received. */
Datum
move_place(PG_FUNCTION_ARGS)
{
	bytea *rows = PG_GETARG_BYTEA_PP(0);
	ItemPointer place = (ItemPointer) PG_GETARG_POINTER(1);
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(place);
	ItemPointer here = palloc(sizeof(ItemPointerData));

	if (offset < FirstOffsetNumber ||
		offset * sizeof(ItemPointerData) > VARSIZE_ANY_EXHDR(rows))
		PG_RETURN_NULL();
	memcpy(here, VARDATA_ANY(rows) + (offset - 1) * sizeof(ItemPointerData),
		   sizeof(ItemPointerData));
	if (!ItemPointerIsValid(here))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(here);
}

/* ------------------------------------------------------------------------------------
 * COPY.
 */

/* The trigger function: it says where rows go, and is never called. */
Datum
move_row(PG_FUNCTION_ARGS)
{
	refuse("they come by COPY");
	PG_RETURN_NULL();
}

/* A copy, for the relation may be read anew while it is used. */
static const Trigger *
find_trigger(Relation rel)
{
	Oid function = LookupFuncName(list_make2(makeString("pando"), makeString("move_row")),
								  0, NULL, true);
	const TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (triggers->triggers[i].tgfoid == function)
			return &triggers->triggers[i];
	}
	return NULL;
}

/* The table of a COPY that brings rows of a shard; NULL: it is another COPY. */
static Relation
open_receiving(const CopyStmt *stmt)
{
	Oid relid;
	Relation rel;

	if (!stmt->is_from || stmt->relation == NULL || stmt->filename != NULL ||
		stmt->whereClause != NULL ||
		strncmp(stmt->relation->relname, MOVE_TABLE_PREFIX, strlen(MOVE_TABLE_PREFIX)) !=
			0)
		return NULL;
	relid = RangeVarGetRelid(stmt->relation, RowExclusiveLock, true);
	rel = OidIsValid(relid) ? table_open(relid, NoLock) : NULL;
	if (rel != NULL && find_trigger(rel) == NULL)
	{
		table_close(rel, NoLock);
		return NULL;
	}
	return rel;
}

static uint64
receive(Relation rel, const CopyStmt *stmt, const char *text)
{
	ParseState *pstate = make_parsestate(NULL);
	int natts = RelationGetDescr(rel)->natts;
	Datum *values = palloc(sizeof(Datum) * natts);
	bool *isnull = palloc(sizeof(bool) * natts);
	Receiver *receiver;
	CopyFromState copy;
	uint64 count = 0;

	receiver = receiver_open(rel, find_trigger(rel));
	pstate->p_sourcetext = text;
	addRangeTableEntryForRelation(pstate, rel, RowExclusiveLock, NULL, false, false);
	copy =
		BeginCopyFrom(pstate, rel, NULL, NULL, false, NULL, stmt->attlist, stmt->options);
	for (;;)
	{
		ExprContext *context = GetPerTupleExprContext(receiver->estate);
		MemoryContext old;
		bool found;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(context);
		old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
		found = NextCopyFrom(copy, context, values, isnull);
		if (found)
			receiver_put(receiver, values, isnull);
		MemoryContextSwitchTo(old);
		if (!found)
			break;
		pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED, ++count);
	}
	EndCopyFrom(copy);
	receiver_close(receiver);
	free_parsestate(pstate);
	return count;
}

static void
receive_utility(PlannedStmt *pstmt, const char *text, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	Relation rel = IsA(pstmt->utilityStmt, CopyStmt)
					   ? open_receiving((CopyStmt *) pstmt->utilityStmt)
					   : NULL;
	uint64 count;

	if (rel == NULL)
	{
		hook_utility_next(UTILITY_RECEIVE, pstmt, text, read_only_tree, context, params,
						  environment, dest, qc);
		return;
	}
	count = receive(rel, (CopyStmt *) pstmt->utilityStmt, text);
	table_close(rel, NoLock);
	if (qc != NULL)
		SetQueryCompletion(qc, CMDTAG_COPY, count);
}

void
move_row_init(void)
{
	hook_utility(UTILITY_RECEIVE, receive_utility);
}
