/*
 * function.c: functions and procedures that run where the rows of an argument are.
 *
 * What pg_dist_object says is looked up once per function, also that it says nothing, and
 * forgotten when any function of the database changes: dist_function_invalidate() tells
 * that of the function's own row in pg_proc, which makes plans with a call of it anew,
 * too.
 *
 * Where such a function runs is a matter of speed: it sees the same tables from any node.
 * So nothing is locked for it, and an anchor that was dropped since it was found only
 * means that another table of the group is looked for.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "pando/catalog/object.h"
#include "pando/metadata/function.h"
#include "pando/remote/session.h"

#define MAX_FAILURES 12

static HTAB *functions = NULL;
static bool functions_changed = false;
static bool any_distributed = false;

static void
function_invalidated(Datum arg, int cache, uint32 hash)
{
	functions_changed = true;
	/* What nodes have prepared might have other columns now. */
	if (any_distributed)
		session_statements_changed();
}

static void
start_afresh(void)
{
	HASHCTL control = {.keysize = sizeof(Oid), .entrysize = sizeof(DistFunction)};

	if (functions == NULL)
		CacheRegisterSyscacheCallback(PROCOID, function_invalidated, (Datum) 0);
	else
		hash_destroy(functions);
	functions_changed = false;
	any_distributed = false;
	functions = hash_create("pando functions", 64, &control, HASH_ELEM | HASH_BLOBS);
}

const DistFunction *
dist_function(Oid funcid)
{
	DistFunction *function;
	ObjectAddress address;
	ObjectRow *row;

	if (funcid < FirstNormalObjectId || !metadata_active())
		return NULL;
	if (functions == NULL || functions_changed)
		start_afresh();
	function = hash_search(functions, &funcid, HASH_FIND, NULL);
	if (function != NULL)
		return function->distributed ? function : NULL;

	ObjectAddressSet(address, ProcedureRelationId, funcid);
	row = catalog_object_find(&address);
	function = hash_search(functions, &funcid, HASH_ENTER, NULL);
	*function = (DistFunction){.funcid = funcid, .argument = -1};
	if (row == NULL || row->colocationid < 0)
		return NULL;
	function->distributed = true;
	function->argument = row->distribution_argument_index;
	function->colocation = row->colocationid;
	function->forced = row->force_delegation == 1;
	any_distributed = true;
	return function;
}

const DistTable *
dist_function_anchor(const DistFunction *function)
{
	const DistTable *table =
		OidIsValid(function->anchor) ? dist_table(function->anchor) : NULL;
	List *relids;

	if (table != NULL && table->colocation == function->colocation)
		return table;
	relids = dist_table_oids_of_colocation(function->colocation);
	table = relids != NIL ? dist_table(linitial_oid(relids)) : NULL;
	list_free(relids);
	if (table != NULL)
	{
		/* Another one may have been read meanwhile. */
		DistFunction *entry = hash_search(functions, &function->funcid, HASH_FIND, NULL);

		if (entry != NULL)
			entry->anchor = table->relid;
	}
	return table != NULL && dist_table_is_sharded(table) ? table : NULL;
}

static DistFunction *
known_function(Oid funcid)
{
	return dist_function(funcid) != NULL
			   ? hash_search(functions, &funcid, HASH_FIND, NULL)
			   : NULL;
}

bool
dist_function_try(Oid funcid)
{
	DistFunction *function = known_function(funcid);

	if (function == NULL)
		return false;
	if (function->pause > 0)
	{
		function->pause--;
		return false;
	}
	return true;
}

void
dist_function_tried(Oid funcid, bool was_enough)
{
	DistFunction *function = known_function(funcid);

	if (function == NULL)
		return;
	function->failures = was_enough ? 0 : Min(function->failures + 1, MAX_FAILURES);
	function->pause = was_enough ? 0 : 1 << function->failures;
}

void
dist_function_invalidate(Oid funcid)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	Relation rel;

	if (!HeapTupleIsValid(tuple))
		return;
	rel = table_open(ProcedureRelationId, AccessShareLock);
	CacheInvalidateHeapTuple(rel, tuple, NULL);
	table_close(rel, AccessShareLock);
	ReleaseSysCache(tuple);
}
