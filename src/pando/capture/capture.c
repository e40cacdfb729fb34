/*
 * capture.c: changes of shards, decoded as changes of their tables.
 *
 * Runs in whatever process decodes, with the historic snapshot of the change: catalogs
 * are read as they were then. So nothing is asked of the metadata cache, which is of now;
 * what is found of a relation is kept until an invalidation comes, which decoding replays
 * too.
 */
#include "pando/compat/compat.h"
#include "pando/compat/change_tuple.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "replication/logical.h"
#include "replication/origin.h"
#include "replication/reorderbuffer.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pando/base/name.h"
#include "pando/capture/capture.h"
#include "pando/catalog/move_part.h"
#include "pando/catalog/node.h"
#include "pando/catalog/partition.h"
#include "pando/catalog/placement.h"
#include "pando/catalog/shard.h"
#include "pando/metadata/node.h"
#include "pando/metadata/shard_relation.h"
#include "pando/transaction/xact.h"

#define DECODERS "pando_decoders"

/* What is known of a relation, as of the historic snapshot. */
typedef struct Captured
{
	Oid relid;				 /* hash key */
	Oid shell;				 /* InvalidOid: the relation is no shard */
	bool given;				 /* from this node */
	bool mapped;			 /* is `map` known? */
	TupleConversionMap *map; /* from the shard's columns to the shell's; NULL: the same */
} Captured;

static bool enabled = false;
static OutputPluginCallbacks real; /* of the plugin that is wrapped */
static HTAB *captured = NULL;
static MemoryContext captured_context = NULL;
static MemoryContext scratch = NULL; /* for one change */
static bool stale = false;

/* ------------------------------------------------------------------------------------
 * What a relation is.
 */

static void
forget(Datum arg, Oid relid)
{
	stale = true;
}

static void
captured_start(void)
{
	HASHCTL control = {.keysize = sizeof(Oid), .entrysize = sizeof(Captured)};

	if (captured_context == NULL)
	{
		captured_context = AllocSetContextCreate(CacheMemoryContext, "pando capture",
												 ALLOCSET_DEFAULT_SIZES);
		CacheRegisterRelcacheCallback(forget, (Datum) 0);
	}
	MemoryContextReset(captured_context);
	control.hcxt = captured_context;
	stale = false;
	captured =
		hash_create("pando capture", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Does the shard's first active placement belong to this node? */
static bool
is_first_here(int64 shard_id)
{
	int32 first = -1;

	foreach_ptr (PlacementRow, row, catalog_placement_by_shard(shard_id))
	{
		if (row->shardstate == PLACEMENT_ACTIVE && (first < 0 || row->groupid < first))
			first = row->groupid;
	}
	return first >= 0 && first == catalog_local_group();
}

/* The shell whose shard the relation is, by its name; InvalidOid: it is none. *shard_id
 * is 0 if it could not be a shard to be either. */
static Oid
shell_of(Oid relid, int64 *shard_id)
{
	char *name = get_rel_name(relid);
	ShardRow *shard;
	char *shell_name;

	*shard_id = name != NULL ? shard_id_of_name(name) : 0;
	if (!OidIsValid(get_relname_relid("pg_dist_shard", PG_CATALOG_NAMESPACE)))
		*shard_id = 0;
	if (*shard_id == 0)
		return InvalidOid;
	shard = catalog_shard_by_id(*shard_id);
	shell_name = shard != NULL ? get_rel_name(shard->logicalrelid) : NULL;
	if (shell_name == NULL ||
		get_rel_namespace(relid) != get_rel_namespace(shard->logicalrelid) ||
		strcmp(name, name_shard(shell_name, *shard_id)) != 0)
		return InvalidOid;
	return shard->logicalrelid;
}

/* Is the relation one of the extension's own? */
static bool
is_ours(Oid relid)
{
	Oid schema = get_rel_namespace(relid);

	return schema == PG_CATALOG_NAMESPACE || schema == get_namespace_oid("pando", true);
}

static Captured *
captured_of(Oid relid)
{
	Captured *entry;
	Captured found = {.relid = relid, .given = true};
	int64 shard_id;

	if (captured == NULL || stale)
		captured_start();
	entry = hash_search(captured, &relid, HASH_FIND, NULL);
	if (entry != NULL)
		return entry;
	found.shell = shell_of(relid, &shard_id);
	if (OidIsValid(found.shell))
		found.given = is_first_here(shard_id);
	else
		found.given =
			!is_ours(relid) && (shard_id == 0 || !catalog_move_part_receives(relid));
	entry = hash_search(captured, &relid, HASH_ENTER, NULL);
	*entry = found;
	return entry;
}

/* ------------------------------------------------------------------------------------
 * Around the plugin's callbacks.
 */

static const TupleConversionMap *
map_of(Captured *entry, Relation relation, Relation shell)
{
	if (!entry->mapped)
	{
		MemoryContext old = MemoryContextSwitchTo(captured_context);

		entry->map =
			convert_tuples_by_name(CreateTupleDescCopy(RelationGetDescr(relation)),
								   CreateTupleDescCopy(RelationGetDescr(shell)));
		entry->mapped = true;
		MemoryContextSwitchTo(old);
	}
	return entry->map;
}

/* Calls the plugin for a change of a shard as for one of its shell. */
static void
give(LogicalDecodeChangeCB plugin, LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
	 Relation relation, ReorderBufferChange *change, Captured *entry)
{
	ReorderBufferChange shells = *change;
	CompatChangeTuple new_tuple;
	CompatChangeTuple old_tuple;
	Relation shell = RelationIdGetRelation(entry->shell);
	const TupleConversionMap *map;

	if (!RelationIsValid(shell))
		elog(ERROR, "could not open relation with OID %u", entry->shell);
	map = map_of(entry, relation, shell);
	if (map != NULL)
	{
		shells.data.tp.newtuple = compat_change_tuple_map(
			change->data.tp.newtuple, unconstify(TupleConversionMap *, map), &new_tuple);
		shells.data.tp.oldtuple = compat_change_tuple_map(
			change->data.tp.oldtuple, unconstify(TupleConversionMap *, map), &old_tuple);
	}
	plugin(ctx, txn, shell, &shells);
	RelationClose(shell);
}

static void
change_through(LogicalDecodeChangeCB plugin, LogicalDecodingContext *ctx,
			   ReorderBufferTXN *txn, Relation relation, ReorderBufferChange *change)
{
	MemoryContext old = MemoryContextSwitchTo(scratch);
	Captured *entry = captured_of(RelationGetRelid(relation));

	if (entry->given && OidIsValid(entry->shell))
		give(plugin, ctx, txn, relation, change, entry);
	else if (entry->given)
		plugin(ctx, txn, relation, change);
	MemoryContextSwitchTo(old);
	MemoryContextReset(scratch);
}

static void
change_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
		  ReorderBufferChange *change)
{
	change_through(real.change_cb, ctx, txn, relation, change);
}

static void
stream_change_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
				 ReorderBufferChange *change)
{
	change_through(real.stream_change_cb, ctx, txn, relation, change);
}

/* Shards are emptied with their shells, which each node has. */
static bool
truncates_here(Relation relation)
{
	Oid relid = RelationGetRelid(relation);
	const Captured *entry = captured_of(relid);

	if (OidIsValid(entry->shell) || !entry->given)
		return false;
	return !OidIsValid(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE)) ||
		   catalog_partition_by_relid(relid) == NULL ||
		   catalog_local_group() == COORDINATOR_GROUP;
}

static void
truncate_through(LogicalDecodeTruncateCB plugin, LogicalDecodingContext *ctx,
				 ReorderBufferTXN *txn, int count, Relation *relations,
				 ReorderBufferChange *change)
{
	MemoryContext old = MemoryContextSwitchTo(scratch);
	Relation *kept = palloc(sizeof(Relation) * count);
	int nkept = 0;

	for (int i = 0; i < count; i++)
		if (truncates_here(relations[i]))
			kept[nkept++] = relations[i];
	if (nkept > 0)
		plugin(ctx, txn, nkept, kept, change);
	MemoryContextSwitchTo(old);
	MemoryContextReset(scratch);
}

static void
truncate_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int count,
			Relation *relations, ReorderBufferChange *change)
{
	truncate_through(real.truncate_cb, ctx, txn, count, relations, change);
}

static void
stream_truncate_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int count,
				   Relation *relations, ReorderBufferChange *change)
{
	truncate_through(real.stream_truncate_cb, ctx, txn, count, relations, change);
}

static bool
filter_by_origin_cb(LogicalDecodingContext *ctx, RepOriginId origin)
{
	return origin == DoNotReplicateId ||
		   (real.filter_by_origin_cb != NULL && real.filter_by_origin_cb(ctx, origin));
}

void
capture_wrap(const char *plugin, OutputPluginCallbacks *callbacks)
{
	LogicalOutputPluginInit init = (LogicalOutputPluginInit) load_external_function(
		psprintf("$libdir/%s", plugin), "_PG_output_plugin_init", true, NULL);

	if (scratch == NULL)
		scratch = AllocSetContextCreate(TopMemoryContext, "pando captured change",
										ALLOCSET_SMALL_SIZES);
	init(callbacks);
	real = *callbacks;
	callbacks->change_cb = change_cb;
	callbacks->filter_by_origin_cb = filter_by_origin_cb;
	if (real.truncate_cb != NULL)
		callbacks->truncate_cb = truncate_cb;
	if (real.stream_change_cb != NULL)
		callbacks->stream_change_cb = stream_change_cb;
	if (real.stream_truncate_cb != NULL)
		callbacks->stream_truncate_cb = stream_truncate_cb;
	stale = true;
}

/* ------------------------------------------------------------------------------------
 * What is no change.
 */

static int paused_level = 0; /* of the transaction that has paused; 0: none */
static RepOriginId paused_origin;

void
capture_pause(void)
{
	if (paused_level > 0)
		return;
	paused_level = GetCurrentTransactionNestLevel();
	paused_origin = replorigin_session_origin;
	replorigin_session_origin = DoNotReplicateId;
}

void
capture_resume(void)
{
	if (paused_level == 0)
		return;
	paused_level = 0;
	replorigin_session_origin = paused_origin;
}

void
capture_pause_on(List *nodes, bool pause)
{
	if (enabled)
		xact_tell_nodes(nodes, psprintf("SELECT pando.capture_set_paused(%s)",
										pause ? "true" : "false"));
}

static void
xact_ends(XactEvent event, void *arg)
{
	capture_resume();
}

static void
subxact_ends(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB &&
		paused_level >= GetCurrentTransactionNestLevel())
		capture_resume();
}

PG_FUNCTION_INFO_V1(capture_set_paused);

/* capture_set_paused(boolean): what this session writes is no change, until it is called
 * with false or the transaction ends. */
Datum
capture_set_paused(PG_FUNCTION_ARGS)
{
	xact_require_node("pando.capture_set_paused()");
	if (PG_GETARG_BOOL(0))
		capture_pause();
	else
		capture_resume();
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------ */

/* A library path that has our decoders before what else it leads to. */
static char *
path_with_decoders(const char *path)
{
	char *rest = pstrdup(path);
	StringInfoData with;
	char *directory;

	initStringInfo(&with);
	while ((directory = strsep(&rest, ":")) != NULL)
		appendStringInfo(&with, "%s/" DECODERS ":", directory);
	appendStringInfoString(&with, path);
	return with.data;
}

void
capture_init(void)
{
	DefineCustomBoolVariable(
		"citus.enable_change_data_capture",
		"Logical decoding gives changes of shards as changes of their tables.",
		"Output plugins are found beside the extension's library then.", &enabled, false,
		PGC_POSTMASTER, 0, NULL, NULL, NULL);
	if (enabled)
		SetConfigOption("dynamic_library_path", path_with_decoders(Dynamic_library_path),
						PGC_SUSET, PGC_S_OVERRIDE);
	RegisterXactCallback(xact_ends, NULL);
	RegisterSubXactCallback(subxact_ends, NULL);
}
