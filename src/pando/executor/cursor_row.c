/*
 * cursor_row.c: the row that a cursor is at, for WHERE CURRENT OF.
 *
 * The cursor's rows have junk columns that say which rows of its tables they are made of
 * (plan/cursor_row.h). Its execution stands at the row that was fetched last, so that the
 * columns are in the slot that the plan's topmost node returned.
 *
 * A place is where the row was when it was read. The shard's node follows it from there
 * to the version that a statement of now would see, and locks that.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/partition.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/rel.h"

#include "pando/executor/lock_rows.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/plan/cursor_row.h"
#include "pando/plan/row_place.h"
#include "pando/transaction/access.h"

PG_FUNCTION_INFO_V1(cursor_row);

static QueryDesc *
open_query(Portal portal, const char *name)
{
	if (!PortalIsValid(portal))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_CURSOR),
						errmsg("cursor \"%s\" does not exist", name)));
	if (portal->strategy != PORTAL_ONE_SELECT)
		ereport(ERROR, (errcode(ERRCODE_INVALID_CURSOR_STATE),
						errmsg("cursor \"%s\" is not a SELECT query", name)));
	if (portal->queryDesc == NULL || portal->queryDesc->estate == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("cursor \"%s\" is held from a previous transaction", name)));
	return portal->queryDesc;
}

/* What the node returned last; NULL: that can't be told. */
static TupleTableSlot *
last_returned(PlanState *state)
{
	if (state->ps_ProjInfo != NULL)
		return state->ps_ResultTupleSlot;
	switch (nodeTag(state))
	{
		case T_LimitState:
		case T_LockRowsState:
			return last_returned(outerPlanState(state));
		case T_SubqueryScanState:
			return last_returned(((SubqueryScanState *) state)->subplan);
		case T_MaterialState:
		case T_SortState:
		case T_IncrementalSortState:
			return state->ps_ResultTupleSlot;
		case T_SeqScanState:
		case T_IndexScanState:
		case T_BitmapHeapScanState:
		case T_TidScanState:
		case T_TidRangeScanState:
		case T_CustomScanState:
			return ((ScanState *) state)->ss_ScanTupleSlot;
		default:
			return NULL;
	}
}

/*
 * The place, or a column, of the table's row that the cursor is at. The errors are
 * PostgreSQL's; false: NULL.
 */
static bool
value_in_row(QueryDesc *query, Portal portal, Oid relid, AttrNumber column, Oid type,
			 Datum *value)
{
	List *columns = query->planstate->plan->targetlist;
	CursorColumn found = cursor_column_find(columns, relid, column);
	TupleTableSlot *slot;
	bool isnull;

	/* The rows of a partition may be in a scan of its parent. */
	if (found.count == 0)
	{
		foreach_oid(parent,
					get_rel_relispartition(relid) ? get_partition_ancestors(relid) : NIL)
		{
			if (found.count == 0)
				found = cursor_column_find(columns, parent, column);
		}
	}
	if (found.count != 1 && (found.locks || query->estate->es_rowmarks != NULL ||
							 query->plannedstmt->rowMarks != NIL))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_CURSOR_STATE),
			 errmsg(found.count > 1
						? "cursor \"%s\" has multiple FOR UPDATE/SHARE references to "
						  "table \"%s\""
						: "cursor \"%s\" does not have a FOR UPDATE/SHARE reference to "
						  "table \"%s\"",
					portal->name, get_rel_name(relid))));
	if (found.count != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("cursor \"%s\" is not a simply updatable scan of table \"%s\"",
						portal->name, get_rel_name(relid))));
	if (portal->atStart || portal->atEnd)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("cursor \"%s\" is not positioned on a row", portal->name)));
	slot = last_returned(query->planstate);
	if (slot == NULL || TupIsNull(slot) ||
		slot->tts_tupleDescriptor->natts < found.position ||
		TupleDescAttr(slot->tts_tupleDescriptor, found.position - 1)->atttypid != type)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("WHERE CURRENT OF cursor \"%s\" is not supported yet",
							   portal->name),
						errdetail("The row can't be told from its plan.")));
	*value = slot_getattr(slot, found.position, &isnull);
	return !isnull;
}

static const Shard *
shard_of_place(const char *place, const DistTable **table)
{
	const Shard *shard = shard_by_id(row_place_shard(place), table);

	if (shard == NULL || shard->nplacements == 0)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("shard " INT64_FORMAT " has no active placement",
							   row_place_shard(place))));
	return shard;
}

/* Is it a row of the table, which may be the parent? */
static bool
is_row_of(Oid relid, Oid of)
{
	return of == relid || (get_rel_relispartition(of) &&
						   list_member_oid(get_partition_ancestors(of), relid));
}

/* The place of the version that is seen now, which is locked; NULL: there is none, or it
 * was changed while its lock was awaited. */
static char *
place_of_version(const char *place, int lock)
{
	static const char *const locks[] = {"", "FOR KEY SHARE", "FOR SHARE",
										"FOR NO KEY UPDATE", "FOR UPDATE"};
	const DistTable *table;
	const Shard *shard = shard_of_place(place, &table);
	char *name = shard_table_name(table, shard->id);
	const char *alias = "t";
	List *roles = NIL;

	if (lock == CURSOR_ROW_PAST_POLICIES)
	{
		alias = ACCESS_ALIAS "0_t";
		roles = list_make1_oid(relation_role_past_policies(table->relid));
		lock = LCS_NONE;
	}
	return value_with_locks(
		node_by_group(shard->placements[0].group),
		psprintf("SELECT pando.row_place(%s.tableoid, %s.ctid, %s.xmin) FROM ONLY %s %s "
				 "WHERE %s.ctid OPERATOR(pg_catalog.=) (SELECT pando.row_version(%s::"
				 "pg_catalog.regclass, '%s', '%u')) %s",
				 alias, alias, alias, name, alias, alias, quote_literal_cstr(name),
				 row_place_tid(place), row_place_version(place), locks[lock]),
		roles);
}

/*
 * The same for the row's newest version; NULL: it was deleted, or can't be locked though
 * nobody changes it, as policies of UPDATE don't allow it.
 */
static char *
place_now(const char *place, int lock)
{
	char *now = place_of_version(place, lock);
	char *seen = NULL;

	while (now == NULL && lock > LCS_NONE)
	{
		char *before = seen;

		CHECK_FOR_INTERRUPTS();
		seen = place_of_version(place, LCS_NONE);
		if (seen == NULL || (before != NULL && strcmp(seen, before) == 0))
			return NULL;
		now = place_of_version(place, lock);
	}
	return now;
}

/*
 * The shard is here: its statement sees what the client's has seen when it began. Raises
 * a serialization failure where the row was changed since.
 */
static void
refuse_newer_version(const char *place, const char *now)
{
	const DistTable *table;
	const Shard *shard = shard_of_place(place, &table);
	Datum seen;
	Datum locked;

	/* What this transaction has done planning may not see yet, where it estimates. */
	if (shard->placements[0].group != node_local_group() ||
		TransactionIdIsCurrentTransactionId(row_place_version(now)))
		return;
	seen = DirectFunctionCall3(
		row_version, ObjectIdGetDatum(shard_relation_require(table, shard->id)),
		DirectFunctionCall1(tidin, CStringGetDatum(row_place_tid(place))),
		TransactionIdGetDatum(row_place_version(place)));
	locked = DirectFunctionCall1(tidin, CStringGetDatum(row_place_tid(now)));
	if (!ItemPointerEquals((ItemPointer) DatumGetPointer(seen),
						   (ItemPointer) DatumGetPointer(locked)))
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("could not serialize access due to concurrent update"),
						errhint("Have the cursor lock its rows with FOR UPDATE.")));
}

/* The ctid at the place, among the rows of all shards. */
static Datum
ctid_of_place(const char *place)
{
	const DistTable *table;
	const Shard *shard = shard_of_place(place, &table);
	Datum tid = DirectFunctionCall1(tidin, CStringGetDatum(row_place_tid(place)));

	return row_ctid_in_shard(shard, table->nshards, (ItemPointer) DatumGetPointer(tid));
}

/*
 * pando.cursor_row(cursor, table, column, lock, anyelement): of the table's row that the
 * cursor is at a column, or ctid or tableoid, which stands for the place. The row is
 * found where it is now for those, and locked; NULL: it is no more.
 */
Datum
cursor_row(PG_FUNCTION_ARGS)
{
	Oid type = get_fn_expr_argtype(fcinfo->flinfo, 4);
	int column;
	int lock;
	Oid relid;
	char *name;
	char *place;
	char *now;
	Portal portal;
	QueryDesc *query;
	const DistTable *table;
	bool is_place;
	Datum value;

	for (int i = 0; i < 4; i++)
	{
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	}
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	relid = PG_GETARG_OID(1);
	column = PG_GETARG_INT32(2);
	lock = PG_GETARG_INT32(3);
	is_place =
		column == SelfItemPointerAttributeNumber || column == TableOidAttributeNumber;
	if (get_rel_name(relid) == NULL || lock < CURSOR_ROW_PAST_POLICIES ||
		lock > LCS_FORUPDATE || column < FirstLowInvalidHeapAttributeNumber ||
		column > MaxHeapAttributeNumber ||
		(is_place &&
		 type != (column == SelfItemPointerAttributeNumber ? TIDOID : TEXTOID)))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("not a column of a cursor's row")));
	portal = GetPortalByName(name);
	query = open_query(portal, name);
	if (!value_in_row(query, portal, relid, is_place ? TableOidAttributeNumber : column,
					  is_place ? TEXTOID : type, &value))
		PG_RETURN_NULL();
	if (!is_place)
		PG_RETURN_DATUM(datumCopy(value, get_typbyval(type), get_typlen(type)));
	place = TextDatumGetCString(value);
	(void) shard_of_place(place, &table);
	if (!is_row_of(relid, table->relid))
		PG_RETURN_NULL();
	now = place_now(place, lock);
	if (now == NULL)
		PG_RETURN_NULL();
	refuse_newer_version(place, now);
	if (column == SelfItemPointerAttributeNumber)
		PG_RETURN_DATUM(ctid_of_place(now));
	PG_RETURN_TEXT_P(cstring_to_text(now));
}
