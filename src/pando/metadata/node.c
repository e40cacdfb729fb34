/*
 * node.c: the cache of the cluster's nodes and of this server's place among them.
 *
 * There are few nodes and they change rarely, so all of them are read at once and lists
 * are made by walking an array. An invalidation of pg_dist_node stands for every change,
 * also of pg_dist_local_group and pg_dist_node_metadata.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_namespace.h"
#include "fmgr.h"
#include "postmaster/postmaster.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/catalog/node.h"
#include "pando/metadata/cache.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"

/* What is known while the extension is not there. */
static const struct NodeMap
{
	int32 local_group;
	int nnodes;
	DistNode *nodes; /* in order of group, then primaries first, then id */
	const DistNode *local;
	const char *server_id;
} no_nodes = {0, 0, NULL, NULL, NULL};

typedef struct NodeMap NodeMap;

char *node_local_hostname = NULL;

static CacheState map_state = CACHE_EMPTY;
static NodeMap *map = NULL;
static MemoryContext map_context = NULL;
static Oid map_relid = InvalidOid; /* pg_dist_node */
static const DistNode *(*stand_in_for)(const DistNode *primary) = NULL;

void
node_cache_invalidated(Oid relid)
{
	if (!OidIsValid(relid) || relid == map_relid)
		map_state = CACHE_EMPTY;
}

void
node_from_row(DistNode *node, const NodeRow *row)
{
	node->id = row->nodeid;
	node->group = row->groupid;
	node->host = row->nodename;
	node->port = row->nodeport;
	node->rack = row->noderack;
	node->has_metadata = row->hasmetadata;
	node->active = row->isactive;
	node->primary = strcmp(row->noderole, "primary") == 0;
	node->unavailable = strcmp(row->noderole, "unavailable") == 0;
	node->cluster = row->nodecluster;
	node->metadata_synced = row->metadatasynced;
	node->should_have_shards = row->shouldhaveshards;
	node->is_clone = row->nodeisclone;
	node->primary_id = row->nodeprimarynodeid;
	node->listed = true;
}

/* The coordinator, on itself, when it is not in pg_dist_node. */
static void
stand_for_coordinator(DistNode *node)
{
	node->group = COORDINATOR_GROUP;
	node->host = pstrdup(node_local_hostname);
	node->port = PostPortNumber;
	node->rack = node->cluster = "default";
	node->has_metadata = node->metadata_synced = node->active = node->primary = true;
}

static int
compare_nodes(const void *a, const void *b)
{
	const DistNode *x = a;
	const DistNode *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->primary != y->primary)
		return x->primary ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Reads all nodes into the current memory context. */
static NodeMap *
node_map_load(void)
{
	NodeMap *loaded = palloc0(sizeof(NodeMap));
	List *rows = catalog_node_all();
	bool found = false;

	loaded->local_group = catalog_local_group();
	loaded->server_id = catalog_server_id();
	loaded->nodes = palloc0(sizeof(DistNode) * (list_length(rows) + 1));
	foreach_ptr (NodeRow, row, rows)
	{
		found |= row->groupid == loaded->local_group;
		node_from_row(&loaded->nodes[loaded->nnodes++], row);
	}
	if (!found && rows != NIL && loaded->local_group == COORDINATOR_GROUP)
		stand_for_coordinator(&loaded->nodes[loaded->nnodes++]);
	qsort(loaded->nodes, loaded->nnodes, sizeof(DistNode), compare_nodes);

	for (int i = 0; i < loaded->nnodes && loaded->local == NULL; i++)
		if (loaded->nodes[i].group == loaded->local_group && loaded->nodes[i].primary)
			loaded->local = &loaded->nodes[i];
	return loaded;
}

static const NodeMap *
node_map(void)
{
	if (!metadata_active())
		return &no_nodes;
	for (int loads = 0; map_state != CACHE_VALID && loads < CACHE_MAX_LOADS; loads++)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pando nodes",
													  ALLOCSET_SMALL_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);
		NodeMap *loaded;

		map_state = CACHE_LOADING;
		map_relid = get_relname_relid("pg_dist_node", PG_CATALOG_NAMESPACE);
		loaded = node_map_load();
		MemoryContextSwitchTo(old);
		MemoryContextSetParent(context, metadata_cache_context());
		if (map_context != NULL)
			metadata_cache_retire(map_context);
		map = loaded;
		map_context = context;
		if (map_state == CACHE_LOADING)
			map_state = CACHE_VALID;
	}
	return map;
}

static bool
node_usable(const DistNode *node)
{
	return node->active && node->primary;
}

List *
node_list(NodeFilter filter)
{
	const NodeMap *all = node_map();
	const DistNode *coordinator = NULL;
	List *list = NIL;

	for (int i = 0; i < all->nnodes; i++)
	{
		const DistNode *node = &all->nodes[i];
		bool wanted = true;

		if (!node_usable(node))
			continue;
		if (node->group == COORDINATOR_GROUP && node->listed)
			coordinator = node;
		if (filter == NODES_OTHER)
			wanted = node->group != all->local_group;
		else if (filter == NODES_LISTED)
			wanted = node->listed;
		else if (filter == NODES_WORKERS)
			wanted = node->group != COORDINATOR_GROUP;
		else if (filter == NODES_WITH_SHARDS)
			wanted = node->should_have_shards;
		if (wanted)
			list = lappend(list, (void *) node);
	}
	if (filter == NODES_WITH_SHARDS && list == NIL && coordinator != NULL)
		list = list_make1((void *) coordinator);
	return list;
}

/* Where the group's nodes begin, or would. */
static int
first_of_group(const NodeMap *all, int32 group)
{
	int low = 0;
	int high = all->nnodes;

	while (low < high)
	{
		int middle = (low + high) / 2;

		if (all->nodes[middle].group < group)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
pg_attribute_noreturn() raise_unlisted(void)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("the coordinator is not a node of the cluster"),
					errdetail("It was removed, so that the nodes can't call it, and it "
							  "holds no shards."),
					errhint("Add it again, on the coordinator, with SELECT "
							"citus_set_coordinator_host('<its host name>').")));
}

const DistNode *
node_by_group(int32 group)
{
	const NodeMap *all = node_map();
	int first = first_of_group(all, group);

	/* The first one of a group is its primary, if it has any. */
	if (first < all->nnodes && all->nodes[first].group == group &&
		all->nodes[first].primary)
	{
		const DistNode *primary = &all->nodes[first];

		return stand_in_for != NULL && group != all->local_group ? stand_in_for(primary)
																 : primary;
	}
	if (group == COORDINATOR_GROUP)
		raise_unlisted();
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
					errmsg("there is no primary node for group %d", group)));
}

List *
node_secondaries(int32 group, const char *cluster)
{
	const NodeMap *all = node_map();
	List *list = NIL;

	for (int i = first_of_group(all, group);
		 i < all->nnodes && all->nodes[i].group == group; i++)
	{
		const DistNode *node = &all->nodes[i];

		if (!node->primary && node->active && !node->unavailable &&
			strcmp(node->cluster, cluster) == 0)
			list = lappend(list, (void *) node);
	}
	return list;
}

void
node_set_stand_in(const DistNode *(*stand_in)(const DistNode *primary))
{
	stand_in_for = stand_in;
}

/*
 * One that is missing is looked for in the catalog once more: a new node is seen by
 * queries before its coordinator's second phase ends and the invalidation is sent.
 */
const DistNode *
node_by_id(int32 id)
{
	for (int look = 0; look < 2; look++)
	{
		const NodeMap *all = node_map();

		for (int i = 0; i < all->nnodes; i++)
			if (all->nodes[i].id == id)
				return &all->nodes[i];
		if (look == 0)
			node_cache_invalidated(InvalidOid);
	}
	return NULL;
}

const DistNode *
node_by_name(const char *host, int port)
{
	const NodeMap *all = node_map();

	for (int i = 0; i < all->nnodes; i++)
		if (all->nodes[i].port == port && strcmp(all->nodes[i].host, host) == 0)
			return &all->nodes[i];
	return NULL;
}

const char *
node_server_id(void)
{
	const NodeMap *all = node_map();

	if (all->server_id == NULL)
		elog(ERROR, "pg_dist_node_metadata has no server_id");
	return all->server_id;
}

int32
node_local_group(void)
{
	return node_map()->local_group;
}

const DistNode *
node_local(void)
{
	return node_map()->local;
}

int32
node_local_id(void)
{
	const DistNode *local = node_local();

	return local != NULL ? local->id : 0;
}

bool
node_is_coordinator(void)
{
	return node_local_group() == COORDINATOR_GROUP;
}

void
node_require_coordinator(void)
{
	if (!node_is_coordinator())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("operation is not allowed on this node"),
				 errhint("Run it as a statement of its own, or on the coordinator.")));
}

void
node_require_listed_coordinator(void)
{
	const NodeMap *all = node_map();

	if (all->local != NULL && !all->local->listed)
		raise_unlisted();
}

PG_FUNCTION_INFO_V1(require_coordinator);

/* pando.require_coordinator(): true */
Datum
require_coordinator(PG_FUNCTION_ARGS)
{
	node_require_coordinator();
	PG_RETURN_BOOL(true);
}

void
node_invalidate(void)
{
	catalog_node_invalidate();
}
