/*
 * plan_store.c: plans that this backend keeps beyond PostgreSQL's own plan cache.
 *
 * Invalidation only marks, since it may come at any moment; what is marked goes when it
 * is looked for, or makes room.
 */
#include "pando/compat/compat.h"

#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "pando/base/statement_caches.h"
#include "pando/planner/local/mould.h"
#include "pando/planner/local/plan_store.h"

typedef struct StoreEntry
{
	uint64 hash;
	StoredPlan *plan;
} StoreEntry;

struct PlanStore
{
	dlist_head plans;
	HTAB *index;
	int count;
	int capacity;
	PlanStore *next;
};

static PlanStore *stores = NULL;

static void
relation_changed(Datum arg, Oid relid)
{
	for (PlanStore *store = stores; store != NULL; store = store->next)
	{
		dlist_iter iter;

		dlist_foreach (iter, &store->plans)
		{
			StoredPlan *plan = dlist_container(StoredPlan, link, iter.cur);

			if (!OidIsValid(relid) || list_member_oid(plan->relations, relid))
				plan->valid = false;
		}
	}
}

static void
object_changed(Datum arg, int cache, uint32 hash)
{
	relation_changed((Datum) 0, InvalidOid);
}

/* What PostgreSQL's plan cache listens to. */
static void
listen_to_changes(void)
{
	static const int caches[] = {PROCOID, TYPEOID, NAMESPACEOID, OPEROID, AMOPOPID};
	static bool listening = false;

	if (listening)
		return;
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	for (int i = 0; i < lengthof(caches); i++)
		CacheRegisterSyscacheCallback(caches[i], object_changed, (Datum) 0);
	listening = true;
}

PlanStore *
plan_store_create(const char *name, int capacity)
{
	PlanStore *store = MemoryContextAllocZero(TopMemoryContext, sizeof(PlanStore));
	HASHCTL control = {.keysize = sizeof(uint64),
					   .entrysize = sizeof(StoreEntry),
					   .hcxt = TopMemoryContext};

	dlist_init(&store->plans);
	store->index = hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	store->capacity = capacity;
	store->next = stores;
	stores = store;
	listen_to_changes();
	return store;
}

/* Takes it out of the store; frees it unless somebody runs it. */
static void
remove_plan(PlanStore *store, StoredPlan *plan)
{
	hash_search(store->index, &plan->hash, HASH_REMOVE, NULL);
	dlist_delete(&plan->link);
	store->count--;
	plan->listed = false;
	if (plan->pins == 0)
		MemoryContextDelete(plan->context);
}

StoredPlan *
plan_store_find(PlanStore *store, uint64 hash)
{
	StoreEntry *entry = hash_search(store->index, &hash, HASH_FIND, NULL);

	if (entry == NULL || statement_caches == STATEMENT_CACHES_NEVER)
		return NULL;
	if (!entry->plan->valid)
	{
		remove_plan(store, entry->plan);
		return NULL;
	}
	dlist_move_head(&store->plans, &entry->plan->link);
	return entry->plan;
}

StoredPlan *
plan_store_new(Size size)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "pando plan", ALLOCSET_SMALL_SIZES);
	StoredPlan *plan = MemoryContextAllocZero(context, size);

	plan->context = context;
	return plan;
}

void
plan_store_fill(StoredPlan *plan, PlannedStmt *stmt, uint64 mould)
{
	MemoryContext old;

	if (statement_caches != STATEMENT_CACHES_NEVER)
		plan->cast = mould_cast(mould, stmt, plan->context);
	old = MemoryContextSwitchTo(plan->context);
	plan->stmt = plan->cast != NULL ? plan->cast->mould->stmt : copyObject(stmt);
	plan->relations = list_copy(stmt->relationOids);
	MemoryContextSwitchTo(old);
}

void
plan_store_keep(PlanStore *store, StoredPlan *plan, uint64 hash)
{
	StoreEntry *entry;
	bool found;

	entry = hash_search(store->index, &hash, HASH_FIND, NULL);
	if (entry != NULL)
		remove_plan(store, entry->plan);
	else if (store->count >= store->capacity)
		remove_plan(store, dlist_tail_element(StoredPlan, link, &store->plans));

	entry = hash_search(store->index, &hash, HASH_ENTER, &found);
	entry->plan = plan;
	MemoryContextSetParent(plan->context, CacheMemoryContext);
	plan->hash = hash;
	plan->valid = !plan->stmt->transientPlan;
	plan->listed = true;
	dlist_push_head(&store->plans, &plan->link);
	store->count++;
}

static bool
is_in_rtable(Oid relid, List *rtable)
{
	foreach_ptr (RangeTblEntry, rte, rtable)
	{
		if (rte->rtekind == RTE_RELATION && rte->relid == relid)
			return true;
	}
	return false;
}

bool
plan_store_lock(const StoredPlan *plan, List *rtable)
{
	int i = 0;

	foreach_ptr (RangeTblEntry, rte, plan->stmt->rtable)
	{
		Oid relid = plan->cast != NULL ? plan->cast->oids[i++] : rte->relid;

		if (rte->rtekind == RTE_RELATION && !is_in_rtable(relid, rtable))
			LockRelationOid(relid, rte->rellockmode);
	}
	return plan->valid;
}

void
plan_store_pin(StoredPlan *plan)
{
	plan->pins++;
}

void
plan_store_unpin(StoredPlan *plan)
{
	if (--plan->pins == 0 && !plan->listed)
		MemoryContextDelete(plan->context);
}
