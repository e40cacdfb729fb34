/*
 * cache.c: is the extension there, and the life of cached metadata.
 *
 * Everything follows relation cache invalidations: catalogs of ours that appear or go
 * away, shell tables, and pg_dist_node, which stands for all about nodes. The callback
 * only marks; what is marked is read again at its next use. Objects handed out stay in
 * memory until the transaction ends: replaced ones wait in the list of retired contexts.
 *
 * The extension is taken to be there when pg_catalog.pg_dist_partition is and belongs to
 * it. Finding the relation is a look-up in the server's cache of names, so that the
 * answer may be forgotten at any invalidation at little cost.
 */
#include "pando/compat/compat.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/metadata/cache.h"
#include "pando/metadata/init.h"
#include "pando/metadata/table.h"

static enum {
	EXTENSION_UNKNOWN,
	EXTENSION_ABSENT,
	EXTENSION_PRESENT
} extension_state = EXTENSION_UNKNOWN;
static Oid extension_oid = InvalidOid;
static Oid extension_catalog = InvalidOid;

static MemoryContext cache_context = NULL;
static MemoryContext retired_context = NULL;

static void
metadata_relation_invalidated(Datum arg, Oid relid)
{
	if (extension_state == EXTENSION_ABSENT || !OidIsValid(relid) ||
		relid == extension_catalog)
		extension_state = EXTENSION_UNKNOWN;

	/* The catalogs may have come or gone as a whole, which no shell table tells. */
	if (relid == extension_catalog)
		relid = InvalidOid;
	table_cache_invalidated(relid);
	node_cache_invalidated(relid);
}

static void
metadata_xact_ended(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			if (retired_context != NULL)
				MemoryContextDeleteChildren(retired_context);
			break;
		default:
			break;
	}
}

/*
 * In the postmaster, for all backends to inherit. Callbacks at the end of a transaction
 * run in the reverse order of registration: upper layers may still use what is freed
 * here.
 */
void
metadata_init(void)
{
	CacheRegisterRelcacheCallback(metadata_relation_invalidated, (Datum) 0);
	RegisterXactCallback(metadata_xact_ended, NULL);
}

MemoryContext
metadata_cache_context(void)
{
	if (cache_context == NULL)
	{
		retired_context = AllocSetContextCreate(
			TopMemoryContext, "pando retired metadata", ALLOCSET_SMALL_SIZES);
		cache_context = AllocSetContextCreate(TopMemoryContext, "pando metadata",
											  ALLOCSET_DEFAULT_SIZES);
	}
	return cache_context;
}

void
metadata_cache_retire(MemoryContext context)
{
	MemoryContextSetParent(context, retired_context);
}

static void
metadata_find_extension(void)
{
	Oid catalog = get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE);
	Oid extension = InvalidOid;
	char *name;

	if (OidIsValid(catalog))
		extension = getExtensionOfObject(RelationRelationId, catalog);
	name = OidIsValid(extension) ? get_extension_name(extension) : NULL;

	extension_catalog = catalog;
	extension_oid = extension;
	extension_state =
		name != NULL && strcmp(name, "pando") == 0 ? EXTENSION_PRESENT : EXTENSION_ABSENT;
}

bool
metadata_active(void)
{
	if (!IsTransactionState() || !IsNormalProcessingMode() || IsBinaryUpgrade ||
		InitializingParallelWorker || !OidIsValid(MyDatabaseId))
		return false;
	if (extension_state == EXTENSION_UNKNOWN)
		metadata_find_extension();
	if (extension_state != EXTENSION_PRESENT)
		return false;
	return !(creating_extension && CurrentExtensionObject == extension_oid);
}

Oid
metadata_extension(void)
{
	return extension_oid;
}
