/*
 * row_place.c: where a row of a shard is, as a value that travels with the row.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/metadata/shard_relation.h"
#include "pando/plan/row_place.h"

PG_FUNCTION_INFO_V1(row_place);

static Oid
place_function(void)
{
	Oid arguments[] = {OIDOID, TIDOID, XIDOID};

	return LookupFuncName(list_make2(makeString("pando"), makeString("row_place")), 3,
						  arguments, false);
}

static Node *
system_column(Index varno, AttrNumber attno, Oid type)
{
	return (Node *) makeVar(varno, attno, type, -1, InvalidOid, 0);
}

Node *
row_place_call(Index varno)
{
	return (Node *) makeFuncExpr(
		place_function(), TEXTOID,
		list_make3(system_column(varno, TableOidAttributeNumber, OIDOID),
				   system_column(varno, SelfItemPointerAttributeNumber, TIDOID),
				   system_column(varno, MinTransactionIdAttributeNumber, XIDOID)),
		DEFAULT_COLLATION_OID, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* System columns of one item of this level; a client may call it with anything. */
static bool
are_of_one_row(List *arguments)
{
	Var *first = linitial(arguments);

	foreach_ptr (Var, var, arguments)
	{
		if (!IsA(var, Var) || var->varattno >= 0 || var->varlevelsup != 0 ||
			var->varno != first->varno)
			return false;
	}
	return true;
}

bool
is_row_place(Node *node)
{
	FuncExpr *call = (FuncExpr *) node;

	return node != NULL && IsA(node, FuncExpr) && call->funcid >= FirstNormalObjectId &&
		   list_length(call->args) == 3 && call->funcid == place_function() &&
		   are_of_one_row(call->args);
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
	const char *end = start ? strchr(start, ')') : NULL;

	if (end == NULL)
		elog(ERROR, "not a row's place: %s", place);
	return pnstrdup(start, end - start + 1);
}

typedef struct LastShard
{
	Oid relid;
	int64 id;
} LastShard;

/* pando.row_place(tableoid, ctid, xmin) */
Datum
row_place(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(1);
	TransactionId xmin = PG_GETARG_TRANSACTIONID(2);
	LastShard *last = fcinfo->flinfo->fn_extra;

	if (last == NULL)
		last = fcinfo->flinfo->fn_extra =
			MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(LastShard));
	if (last->relid != relid)
	{
		const DistTable *table = dist_table(relid);

		if (table != NULL && table->managed_local && table->nshards == 1)
			last->id = table->shards[0].id;
		else if (!relation_is_shard(relid, &last->id, NULL))
			ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
							errmsg("relation %u is not a shard", relid)));
		last->relid = relid;
	}
	PG_RETURN_TEXT_P(cstring_to_text(psprintf(
		INT64_FORMAT " (%u,%u) %u", last->id, ItemPointerGetBlockNumberNoCheck(tid),
		ItemPointerGetOffsetNumberNoCheck(tid), xmin)));
}
