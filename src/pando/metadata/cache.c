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

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pando/metadata/cache.h"
#include "pando/metadata/init.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

static enum {
	EXTENSION_UNKNOWN,
	EXTENSION_ABSENT,
	EXTENSION_PRESENT
} extension_state = EXTENSION_UNKNOWN;
static Oid extension_oid = InvalidOid;
static Oid extension_catalog = InvalidOid;
static bool version_is_ours = false;
static bool metadata_check_versions = true;

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
	static char *version = NULL;

	DefineCustomStringVariable("citus.version", "Version of the library.", NULL, &version,
							   PANDO_VERSION, PGC_INTERNAL, GUC_NOT_IN_SAMPLE, NULL, NULL,
							   NULL);
	DefineCustomBoolVariable(
		"citus.enable_version_checks",
		"Distributed tables are refused to a library of another version than the "
		"extension.",
		NULL, &metadata_check_versions, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable(
		"citus.local_hostname",
		"Host under which this server is registered when it registers itself.", NULL,
		&node_local_hostname, "localhost", PGC_SUSET, 0, NULL, NULL, NULL);
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

/* What pg_extension says; it has no cache of the server's. */
static char *
extension_version(Oid extension)
{
	Relation rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	char *version = pstrdup("");

	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extension));
	scan = systable_beginscan(rel, ExtensionOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool isnull;
		Datum value = heap_getattr(tuple, Anum_pg_extension_extversion,
								   RelationGetDescr(rel), &isnull);

		if (!isnull)
			version = TextDatumGetCString(value);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return version;
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

	version_is_ours = false;
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

void
metadata_require_version(void)
{
	char *version;

	if (version_is_ours || !metadata_check_versions)
		return;
	version = extension_version(extension_oid);
	if (strcmp(version, PANDO_VERSION) != 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the loaded library is of another version than extension pando"),
			 errdetail("The library is version %s, the extension version %s.",
					   PANDO_VERSION, version),
			 errhint("Run ALTER EXTENSION pando UPDATE, or restart the server with the "
					 "library of that version.")));
	version_is_ours = true;
}

Oid
metadata_extension(void)
{
	return extension_oid;
}
