/*
 * row_place.c: where a row of a shard is, as a value that travels with the row.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "common/string.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_func.h"
#include "storage/bufmgr.h"
#include "storage/itemptr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pando/metadata/shard_relation.h"
#include "pando/plan/row_place.h"

/* Ends the place of a version that the reading transaction wrote. */
#define OWN " own"

PG_FUNCTION_INFO_V1(row_place);
PG_FUNCTION_INFO_V1(row_ctid);
PG_FUNCTION_INFO_V1(row_acts_elsewhere);
PG_FUNCTION_INFO_V1(row_keys_wait);
PG_FUNCTION_INFO_V1(row_moved);
PG_FUNCTION_INFO_V1(row_tableoid);
PG_FUNCTION_INFO_V1(row_version);
PG_FUNCTION_INFO_V1(shard_ctid);

static Oid
function_oid(const char *name, int nargs, const Oid *types)
{
	return LookupFuncName(list_make2(makeString("pando"), makeString(pstrdup(name))),
						  nargs, types, false);
}

/* Functions of tableoid, ctid and maybe xmin; of tableoid and a list. */
static const Oid system_types[] = {OIDOID, TIDOID, XIDOID};
static const Oid tableoid_types[] = {OIDOID, INT8ARRAYOID, OIDARRAYOID};

static Node *
call_for_row(const char *name, int nargs, Oid type, Oid collation, Index varno,
			 Index levels_up)
{
	static const AttrNumber columns[] = {TableOidAttributeNumber,
										 SelfItemPointerAttributeNumber,
										 MinTransactionIdAttributeNumber};
	List *args = NIL;

	for (int i = 0; i < nargs; i++)
		args = lappend(
			args, makeVar(varno, columns[i], system_types[i], -1, InvalidOid, levels_up));
	return (Node *) makeFuncExpr(function_oid(name, nargs, system_types), type, args,
								 collation, InvalidOid, COERCE_EXPLICIT_CALL);
}

Node *
row_place_call(Index varno)
{
	return call_for_row("row_place", 3, TEXTOID, DEFAULT_COLLATION_OID, varno, 0);
}

Node *
row_ctid_call(Index varno, Index levels_up)
{
	return call_for_row("row_ctid", 2, TIDOID, InvalidOid, varno, levels_up);
}

Node *
row_moved_call(Index varno)
{
	return call_for_row("row_moved", 2, BOOLOID, InvalidOid, varno, 0);
}

Node *
row_acts_elsewhere_call(Index varno)
{
	return call_for_row("row_acts_elsewhere", 2, BOOLOID, InvalidOid, varno, 0);
}

Node *
row_keys_wait_call(Index varno)
{
	return call_for_row("row_keys_wait", 2, BOOLOID, InvalidOid, varno, 0);
}

Node *
shard_ctid_call(Node *value, int nshards)
{
	Oid type = exprType(value);
	Oid types[] = {type, INT4OID};
	Node *count = (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
									 Int32GetDatum(nshards), false, true);

	return (Node *) makeFuncExpr(function_oid("shard_ctid", 2, types), type,
								 list_make2(copyObject(value), count), InvalidOid,
								 InvalidOid, COERCE_EXPLICIT_CALL);
}

/* An array of what is known of the partitions. */
static Node *
array_const(Oid array_type, Oid type, int16 size, char align, Datum *values, int count)
{
	return (Node *) makeConst(
		array_type, -1, InvalidOid, -1,
		PointerGetDatum(construct_array(values, count, type, size, true, align)), false,
		false);
}

Node *
row_tableoid_call(Index varno, Index levels_up, Oid parent)
{
	List *partitions = find_all_inheritors(parent, NoLock, NULL);
	Datum *tables = palloc(list_length(partitions) * sizeof(Datum));
	Datum *oids = palloc(list_length(partitions) * sizeof(Datum));
	int count = 0;

	foreach_oid(relid, partitions)
	{
		const DistTable *table = dist_table(relid);

		/* A partitioned one has no rows. */
		if (table == NULL || get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
			continue;
		tables[count] = Int64GetDatum(table->shards[0].id);
		oids[count++] = ObjectIdGetDatum(relid);
	}
	return (Node *) makeFuncExpr(
		function_oid("row_tableoid", lengthof(tableoid_types), tableoid_types), OIDOID,
		list_make3(
			makeVar(varno, TableOidAttributeNumber, OIDOID, -1, InvalidOid, levels_up),
			array_const(INT8ARRAYOID, INT8OID, sizeof(int64), TYPALIGN_DOUBLE, tables,
						count),
			array_const(OIDARRAYOID, OIDOID, sizeof(Oid), TYPALIGN_INT, oids, count)),
		InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* System columns of one item; a client may call it with anything. */
static bool
are_of_one_row(List *arguments)
{
	Var *first = linitial(arguments);

	foreach_ptr (Var, var, arguments)
	{
		if (IsA(var, Const) && var != first)
			continue;
		if (!IsA(var, Var) || var->varattno >= 0 || var->varno != first->varno ||
			var->varlevelsup != first->varlevelsup)
			return false;
	}
	return true;
}

static bool
calls(Node *node, const char *name, int nargs, const Oid *types)
{
	FuncExpr *call = (FuncExpr *) node;

	return node != NULL && IsA(node, FuncExpr) && call->funcid >= FirstNormalObjectId &&
		   list_length(call->args) == nargs && are_of_one_row(call->args) &&
		   call->funcid == function_oid(name, nargs, types);
}

bool
is_row_place(Node *node)
{
	return calls(node, "row_place", 3, system_types);
}

Node *
row_tableoid_column(Node *node)
{
	return calls(node, "row_tableoid", lengthof(tableoid_types), tableoid_types)
			   ? linitial(((FuncExpr *) node)->args)
			   : NULL;
}

bool
is_row_moved(Node *node)
{
	return calls(node, "row_moved", 2, system_types);
}

bool
is_row_acts_elsewhere(Node *node)
{
	return calls(node, "row_acts_elsewhere", 2, system_types);
}

bool
is_row_keys_wait(Node *node)
{
	return calls(node, "row_keys_wait", 2, system_types);
}

bool
is_shard_call(Node *node)
{
	return is_row_place(node) || calls(node, "row_ctid", 2, system_types) ||
		   is_row_moved(node) || is_row_acts_elsewhere(node) || is_row_keys_wait(node) ||
		   calls(node, "row_tableoid", 3, tableoid_types);
}

const Var *
shard_call_column(Node *node)
{
	return linitial(((FuncExpr *) node)->args);
}

int64
row_place_shard(const char *place)
{
	return strtoll(place, NULL, 10);
}

char *
row_place_tid(const char *place)
{
	const char *start = strchr(place, '(');
	unsigned int block;
	unsigned int offset;
	int used = 0;

	/* It goes into statements: nothing else than a ctid may. */
	if (start == NULL || sscanf(start, "(%10u,%5u)%n", &block, &offset, &used) != 2 ||
		used == 0)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("not a row's place: \"%s\"", place)));
	return psprintf("(%u,%u)", block, offset);
}

TransactionId
row_place_version(const char *place)
{
	const char *end = strchr(place, ')');
	char *rest;
	unsigned long version = end == NULL ? 0 : strtoul(end + 1, &rest, 10);

	if (end == NULL || rest == end + 1 || version > PG_UINT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("not a row's place: \"%s\"", place)));
	return (TransactionId) version;
}

bool
row_place_is_own(const char *place)
{
	return pg_str_endswith(place, OWN);
}

/* What a call has learnt of the last row's table. */
typedef struct LastShard
{
	Oid relid;
	int64 id;
	int index;
	int nshards;
	int64 first; /* shard of the table */
} LastShard;

static const LastShard *
shard_of_row(FunctionCallInfo fcinfo, Oid relid)
{
	LastShard *last = fcinfo->flinfo->fn_extra;
	const DistTable *table;
	const Shard *shard = NULL;
	int64 id;

	if (last != NULL && last->relid == relid)
		return last;
	table = dist_table(relid);
	if (table != NULL && table->managed_local && table->nshards == 1)
		shard = &table->shards[0];
	else if (relation_is_shard(relid, &id, NULL))
		shard = shard_by_id(id, &table);
	if (shard == NULL)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("relation %u is not a shard", relid)));
	if (last == NULL)
		last = fcinfo->flinfo->fn_extra =
			MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(LastShard));
	*last = (LastShard){.relid = relid,
						.id = shard->id,
						.index = shard->index,
						.nshards = table->nshards,
						.first = table->shards[0].id};
	return last;
}

/* pando.row_place(tableoid, ctid, xmin). By printf() a place takes ten times as long. */
Datum
row_place(PG_FUNCTION_ARGS)
{
	const LastShard *shard = shard_of_row(fcinfo, PG_GETARG_OID(0));
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(1);
	TransactionId xmin = PG_GETARG_TRANSACTIONID(2);
	char place[MAXINT8LEN + sizeof(" (,) ") + 3 * 10 + sizeof(OWN)];
	char *end = place;

	end += pg_lltoa(shard->id, end);
	end = stpcpy(end, " (");
	end += pg_ultoa_n(ItemPointerGetBlockNumberNoCheck(tid), end);
	*end++ = ',';
	end += pg_ultoa_n(ItemPointerGetOffsetNumberNoCheck(tid), end);
	end = stpcpy(end, ") ");
	end += pg_ultoa_n(xmin, end);
	if (TransactionIdIsCurrentTransactionId(xmin))
		end = stpcpy(end, OWN);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(place, end - place));
}

static Datum
tid_datum(BlockNumber block, OffsetNumber offset)
{
	ItemPointer tid = palloc(sizeof(ItemPointerData));

	ItemPointerSet(tid, block, offset);
	return PointerGetDatum(tid);
}

static Datum
ctid_in_shard(int64 id, int index, int nshards, ItemPointer tid)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);

	if (block > (MaxBlockNumber - index) / nshards)
		ereport(
			ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("a row of shard " INT64_FORMAT " has no ctid of its own", id),
			 errdetail("Its block is %u, and the table has %d shards.", block, nshards)));
	return tid_datum(block * nshards + index, ItemPointerGetOffsetNumberNoCheck(tid));
}

Datum
row_ctid_in_shard(const Shard *shard, int nshards, ItemPointer tid)
{
	return ctid_in_shard(shard->id, shard->index, nshards, tid);
}

/*
 * pando.row_ctid(tableoid, ctid): the ctid among the rows of all shards of the table.
 * Raises program_limit_exceeded when the shard is larger than that can say.
 */
Datum
row_ctid(PG_FUNCTION_ARGS)
{
	const LastShard *shard = shard_of_row(fcinfo, PG_GETARG_OID(0));

	return ctid_in_shard(shard->id, shard->index, shard->nshards,
						 (ItemPointer) PG_GETARG_POINTER(1));
}

/* The elements of an array without NULLs. */
static void *
elements(ArrayType *array, int *count)
{
	if (ARR_NDIM(array) > 1 || ARR_HASNULL(array))
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
						errmsg("a list of tables has one dimension and no NULL")));
	*count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return ARR_DATA_PTR(array);
}

/*
 * pando.row_tableoid(tableoid, tables, oids): which of the Oids is for the table, known
 * by the id of its first shard, whose shard this is.
 */
Datum
row_tableoid(PG_FUNCTION_ARGS)
{
	const LastShard *shard = shard_of_row(fcinfo, PG_GETARG_OID(0));
	int ntables;
	int noids;
	const int64 *tables = elements(PG_GETARG_ARRAYTYPE_P(1), &ntables);
	const Oid *oids = elements(PG_GETARG_ARRAYTYPE_P(2), &noids);

	for (int i = 0; i < Min(ntables, noids); i++)
	{
		if (tables[i] == shard->first)
			PG_RETURN_OID(oids[i]);
	}
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("shard " INT64_FORMAT
						   " is of a partition that came while the statement ran",
						   shard->id),
					errhint("Try again.")));
}

/* pando.shard_ctid(tid, shards): the ctid in its shard of what row_ctid() gave. */
Datum
shard_ctid(PG_FUNCTION_ARGS)
{
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(0);
	int32 nshards = PG_GETARG_INT32(1);

	if (nshards < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("a table has at least one shard")));
	return tid_datum(ItemPointerGetBlockNumberNoCheck(tid) / nshards,
					 ItemPointerGetOffsetNumberNoCheck(tid));
}

/* ------------------------------------------------------------------------------------
 * Rows that move.
 */

/* Has this transaction deleted the row, and not replaced it? */
static bool
is_deleted_here(HeapTupleHeader row, ItemPointer tid)
{
	return (row->t_infomask & HEAP_XMAX_INVALID) == 0 &&
		   !HEAP_XMAX_IS_LOCKED_ONLY(row->t_infomask) &&
		   TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(row)) &&
		   ItemPointerEquals(&row->t_ctid, tid);
}

/*
 * Marks the row as PostgreSQL does when it moves one to another partition. It matters to
 * those alone who wait for this transaction, so that it is a hint, lost in a crash.
 */
static bool
mark_moved(Relation relation, ItemPointer tid)
{
	Buffer buffer;
	Page page;
	ItemId item;
	bool found = false;

	if (ItemPointerGetBlockNumberNoCheck(tid) >= RelationGetNumberOfBlocks(relation))
		return false;
	buffer = ReadBuffer(relation, ItemPointerGetBlockNumberNoCheck(tid));
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	if (ItemPointerGetOffsetNumberNoCheck(tid) >= FirstOffsetNumber &&
		ItemPointerGetOffsetNumberNoCheck(tid) <= PageGetMaxOffsetNumber(page))
	{
		item = PageGetItemId(page, ItemPointerGetOffsetNumberNoCheck(tid));
		if (ItemIdIsNormal(item))
		{
			HeapTupleHeader row = (HeapTupleHeader) PageGetItem(page, item);

			found = is_deleted_here(row, tid);
			if (found)
			{
				HeapTupleHeaderSetMovedPartitions(row);
				MarkBufferDirtyHint(buffer, true);
			}
		}
	}
	UnlockReleaseBuffer(buffer);
	return found;
}

/*
 * pando.row_moved(tableoid, ctid): true; raises an error for any row but one that this
 * transaction has deleted, from a table that it has locked for that.
 */
Datum
row_moved(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	Relation relation = try_relation_open(relid, AccessShareLock);
	bool found = false;

	if (relation != NULL)
	{
		if (CheckRelationLockedByMe(relation, RowExclusiveLock, true) &&
			RELKIND_HAS_TABLE_AM(relation->rd_rel->relkind) &&
			relation->rd_rel->relam == HEAP_TABLE_AM_OID)
			found = mark_moved(relation, (ItemPointer) PG_GETARG_POINTER(1));
		relation_close(relation, AccessShareLock);
	}
	if (!found)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("no row of relation %u that was deleted by this "
							   "transaction",
							   relid)));
	PG_RETURN_BOOL(true);
}

/* pando.row_acts_elsewhere(tableoid, ctid): true; the planner takes it out of a change.
 */
Datum
row_acts_elsewhere(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(true);
}

/* pando.row_keys_wait(tableoid, ctid): the same. */
Datum
row_keys_wait(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(true);
}

/* ------------------------------------------------------------------------------------
 * Rows that were read a while ago.
 */

/* Is it still the version that this transaction wrote? */
static bool
is_version(Buffer buffer, ItemPointer tid, TransactionId xmin)
{
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(tid);
	Page page;
	bool result = false;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (offset >= FirstOffsetNumber && offset <= PageGetMaxOffsetNumber(page))
	{
		ItemId item = PageGetItemId(page, offset);

		result =
			ItemIdIsNormal(item) &&
			HeapTupleHeaderGetRawXmin((HeapTupleHeader) PageGetItem(page, item)) == xmin;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return result;
}

/* The last version that was in this shard, when the row went to another. */
static void
refuse_moved(Relation relation, ItemPointer tid)
{
	Buffer buffer = ReadBuffer(relation, ItemPointerGetBlockNumberNoCheck(tid));
	Page page = BufferGetPage(buffer);
	ItemId item;
	bool moved;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	item = PageGetItemId(page, ItemPointerGetOffsetNumberNoCheck(tid));
	moved = ItemIdIsNormal(item) && HeapTupleHeaderIndicatesMovedPartitions(
										(HeapTupleHeader) PageGetItem(page, item));
	UnlockReleaseBuffer(buffer);
	if (moved)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("WHERE CURRENT OF a row that was moved to another shard is "
						"not supported yet"),
				 errdetail("Its distribution column was changed after the cursor "
						   "had read it.")));
}

/* Follows the row to the version that is seen now; false: it isn't where it was. */
static bool
follow_row(Relation relation, ItemPointer tid, TransactionId xmin)
{
	Buffer buffer;
	bool found;

	if (ItemPointerGetBlockNumberNoCheck(tid) >= RelationGetNumberOfBlocks(relation))
		return false;
	/* While it is pinned nothing is removed from it. */
	buffer = ReadBuffer(relation, ItemPointerGetBlockNumberNoCheck(tid));
	found = is_version(buffer, tid, xmin);
	if (found)
	{
		TableScanDesc scan = table_beginscan_tid(relation, GetActiveSnapshot());

		table_tuple_get_latest_tid(scan, tid);
		table_endscan(scan);
		refuse_moved(relation, tid);
	}
	ReleaseBuffer(buffer);
	return found;
}

/*
 * pando.row_version(table, ctid, xmin): the ctid of the version, of the row that was
 * there, which the statement sees. The caller may read the table. Raises a serialization
 * failure when the row was changed and what was there is removed.
 */
Datum
row_version(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	ItemPointer given = (ItemPointer) PG_GETARG_POINTER(1);
	Datum tid = tid_datum(ItemPointerGetBlockNumberNoCheck(given),
						  ItemPointerGetOffsetNumberNoCheck(given));
	Relation relation = try_relation_open(relid, AccessShareLock);
	AclResult may;

	if (relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relid)));
	may = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	if (may != ACLCHECK_OK)
		aclcheck_error(may, get_relkind_objtype(relation->rd_rel->relkind),
					   RelationGetRelationName(relation));
	if (!RELKIND_HAS_TABLE_AM(relation->rd_rel->relkind) ||
		relation->rd_rel->relam != HEAP_TABLE_AM_OID || RELATION_IS_OTHER_TEMP(relation))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" has no versions of rows",
							   RelationGetRelationName(relation))));
	if (!follow_row(relation, (ItemPointer) DatumGetPointer(tid),
					PG_GETARG_TRANSACTIONID(2)))
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("a row of a cursor was changed by another transaction and "
							   "can't be found any more"),
						errhint("Have the cursor lock its rows with FOR UPDATE.")));
	relation_close(relation, AccessShareLock);
	PG_RETURN_DATUM(tid);
}
