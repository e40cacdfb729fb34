/*
 * function.c: functions and procedures that run where the rows of an argument are, and
 * those that run on the coordinator.
 *
 * What pg_dist_object says is looked up once per function, also that it says nothing, and
 * forgotten when any function of the database changes: dist_function_invalidate() tells
 * that of the function's own row in pg_proc, which makes plans with a call of it anew,
 * too.
 *
 * Where such a function runs is a matter of speed: it sees the same tables from any node.
 * So nothing is locked for it, and an anchor that was dropped since it was found only
 * means that another table of the group is looked for.
 *
 * The coordinator's are the extension's own that change the nodes or move shards, and
 * what belongs to them: background jobs, strategies, progress. A call that is all of its
 * transaction is handed over to it from any node.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/transam.h"
#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
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

static const char *const coordinators[] = {
	"citus_set_coordinator_host",
	"citus_add_node",
	"citus_add_inactive_node",
	"citus_activate_node",
	"citus_disable_node",
	"citus_remove_node",
	"citus_update_node",
	"citus_set_node_property",
	"citus_add_secondary_node",
	"start_metadata_sync_to_node",
	"start_metadata_sync_to_all_nodes",
	"stop_metadata_sync_to_node",
	"citus_add_clone_node",
	"citus_add_clone_node_with_nodeid",
	"citus_remove_clone_node",
	"citus_remove_clone_node_with_nodeid",
	"citus_promote_clone_and_rebalance",
	"master_add_node",
	"master_add_inactive_node",
	"master_activate_node",
	"master_disable_node",
	"master_remove_node",
	"master_update_node",
	"master_set_node_property",
	"master_add_secondary_node",
	"citus_move_shard_placement",
	"citus_copy_shard_placement",
	"master_move_shard_placement",
	"master_copy_shard_placement",
	"citus_split_shard_by_split_points",
	"isolate_tenant_to_new_shard",
	"rebalance_table_shards",
	"get_rebalance_table_shards_plan",
	"get_rebalance_progress",
	"replicate_table_shards",
	"replicate_reference_tables",
	"citus_drain_node",
	"master_drain_node",
	"citus_cleanup_orphaned_resources",
	"citus_job_list",
	"citus_job_status",
	"citus_job_wait",
	"citus_task_wait",
	"citus_job_cancel",
	"citus_rebalance_start",
	"citus_rebalance_status",
	"citus_rebalance_stop",
	"citus_rebalance_wait",
	"citus_schema_move",
	"citus_add_rebalance_strategy",
	"citus_set_default_rebalance_strategy",
};

/* Those of tables, if they are the coordinator's local ones. */
static const char *const coordinators_of_tables[] = {
	"create_distributed_table",
	"create_reference_table",
};

static bool
is_among(const char *name, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* Is it the extension's, and one of those? */
static void
find_coordinators(DistFunction *function)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function->funcid));
	Form_pg_proc form;
	const char *name;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	name = NameStr(form->proname);
	function->of_table =
		is_among(name, coordinators_of_tables, lengthof(coordinators_of_tables));
	function->coordinators =
		form->pronamespace == PG_CATALOG_NAMESPACE &&
		(function->of_table || is_among(name, coordinators, lengthof(coordinators))) &&
		getExtensionOfObject(ProcedureRelationId, function->funcid) ==
			get_extension_oid("pando", true);
	ReleaseSysCache(tuple);
}

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
		return function->distributed || function->coordinators ? function : NULL;

	ObjectAddressSet(address, ProcedureRelationId, funcid);
	row = catalog_object_find(&address);
	function = hash_search(functions, &funcid, HASH_ENTER, NULL);
	*function = (DistFunction){.funcid = funcid, .argument = -1};
	find_coordinators(function);
	if (function->coordinators)
		return function;
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
