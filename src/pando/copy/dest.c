/*
 * dest.c: the DestReceiver that routes rows to shards.
 *
 * Incoming columns are put into a row of the shell's shape; columns that do not come get
 * their default, evaluated here, so that every placement stores the same. Generated
 * columns are left to the shard.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/memutils.h"

#include "pando/copy/dest.h"
#include "pando/copy/shard_route.h"
#include "pando/metadata/sequence_value.h"

typedef struct CopyDest
{
	DestReceiver pub;
	MemoryContext context;
	Oid relid;
	List *attnums; /* of the incoming columns */
	CopyLine line; /* empty: these rows come from no file */

	/* From startup to shutdown. */
	Relation shell;
	ShardRoute *route;
	EState *estate;
	TupleTableSlot *row;
	int ndefaults;
	AttrNumber *default_attnums;
	ExprState **defaults;

	uint64 processed;
} CopyDest;

/* Prepares the defaults of the columns that do not come. */
static void
defaults_prepare(CopyDest *dest, List *columns)
{
	int n = list_length(columns);
	ListCell *cell;

	dest->default_attnums = palloc(sizeof(AttrNumber) * Max(n, 1));
	dest->defaults = palloc(sizeof(ExprState *) * Max(n, 1));
	dest->ndefaults = 0;
	foreach (cell, columns)
	{
		AttrNumber attnum = lfirst_int(cell);
		Expr *expr;

		if (list_member_int(dest->attnums, attnum))
			continue;
		expr = (Expr *) sequence_values_of_cluster(
			build_column_default(dest->shell, attnum), NULL);
		if (expr == NULL)
			continue;
		dest->default_attnums[dest->ndefaults] = attnum;
		dest->defaults[dest->ndefaults++] = ExecPrepareExpr(expr, dest->estate);
	}
}

static void
dest_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
	CopyDest *dest = (CopyDest *) self;
	MemoryContext old = MemoryContextSwitchTo(dest->context);
	List *columns;

	dest->shell = table_open(dest->relid, RowExclusiveLock);
	dest->estate = CreateExecutorState();
	columns = shard_route_columns(RelationGetDescr(dest->shell));
	defaults_prepare(dest, columns);
	dest->row = MakeSingleTupleTableSlot(RelationGetDescr(dest->shell), &TTSOpsVirtual);
	dest->route = shard_route_rows(dist_table_require(dest->relid), dest->shell, columns,
								   -1, &dest->line);
	MemoryContextSwitchTo(old);
}

static bool
dest_receive(TupleTableSlot *slot, DestReceiver *self)
{
	CopyDest *dest = (CopyDest *) self;
	TupleTableSlot *row = dest->row;
	ListCell *cell;
	int i = 0;

	ResetPerTupleExprContext(dest->estate);
	slot_getallattrs(slot);
	ExecClearTuple(row);
	memset(row->tts_isnull, true, sizeof(bool) * row->tts_tupleDescriptor->natts);
	foreach (cell, dest->attnums)
	{
		int at = lfirst_int(cell) - 1;

		row->tts_values[at] = slot->tts_values[i];
		row->tts_isnull[at] = slot->tts_isnull[i];
		i++;
	}
	for (i = 0; i < dest->ndefaults; i++)
	{
		int at = dest->default_attnums[i] - 1;

		row->tts_values[at] = ExecEvalExprSwitchContext(
			dest->defaults[i], GetPerTupleExprContext(dest->estate),
			&row->tts_isnull[at]);
	}
	ExecStoreVirtualTuple(row);
	shard_route_row(dest->route, row);
	return true;
}

static void
dest_shutdown(DestReceiver *self)
{
	CopyDest *dest = (CopyDest *) self;

	dest->processed = shard_route_finish(dest->route);
	ExecDropSingleTupleTableSlot(dest->row);
	FreeExecutorState(dest->estate);
	table_close(dest->shell, NoLock);
	dest->shell = NULL;
}

static void
dest_destroy(DestReceiver *self)
{
	MemoryContextDelete(((CopyDest *) self)->context);
}

DestReceiver *
copy_dest_create(Oid relid, List *attnums)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "rows to shards",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CopyDest *dest = palloc0(sizeof(CopyDest));

	dest->pub.receiveSlot = dest_receive;
	dest->pub.rStartup = dest_startup;
	dest->pub.rShutdown = dest_shutdown;
	dest->pub.rDestroy = dest_destroy;
	dest->pub.mydest = DestCopyOut; /* not used; must not be DestNone */
	dest->context = context;
	dest->relid = relid;
	dest->attnums = list_copy(attnums);
	MemoryContextSwitchTo(old);
	return &dest->pub;
}

uint64
copy_dest_processed(DestReceiver *dest)
{
	return ((CopyDest *) dest)->processed;
}
