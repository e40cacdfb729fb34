/*
 * trigger.c: invalidation after changes to the catalogs by plain SQL.
 *
 * Code changes catalogs through the functions beside this file, which fire no triggers
 * and invalidate by themselves. This is for superusers who UPDATE a catalog, and for
 * restores.
 */
#include "pando/compat/compat.h"

#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "pando/catalog/catalog.h"
#include "pando/catalog/node.h"
#include "pando/catalog/shard.h"

PG_FUNCTION_INFO_V1(invalidate_cache);

/* Invalidates what a row of a catalog is about. */
static void
invalidate_for_row(Relation rel, HeapTuple tuple)
{
	TupleDesc desc = RelationGetDescr(rel);
	int column = SPI_fnumber(desc, "logicalrelid");
	bool isnull;

	if (column > 0)
	{
		catalog_invalidate(DatumGetObjectId(SPI_getbinval(tuple, desc, column, &isnull)));
		return;
	}
	column = SPI_fnumber(desc, "shardid");
	if (column > 0)
	{
		ShardRow *shard = catalog_shard_by_id(
			DatumGetInt64(SPI_getbinval(tuple, desc, column, &isnull)));

		if (shard != NULL)
			catalog_invalidate(shard->logicalrelid);
		return;
	}
	catalog_node_invalidate();
}

/* AFTER trigger: per row for INSERT, UPDATE, DELETE; per statement for TRUNCATE. */
Datum
invalidate_cache(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
						errmsg("must be called as trigger")));
	if (TRIGGER_FIRED_FOR_STATEMENT(data->tg_event))
		CacheInvalidateRelcacheAll();
	else
	{
		invalidate_for_row(data->tg_relation, data->tg_trigtuple);
		if (TRIGGER_FIRED_BY_UPDATE(data->tg_event))
			invalidate_for_row(data->tg_relation, data->tg_newtuple);
	}
	return PointerGetDatum(NULL);
}
