/*
 * mould.c: one plan for all shards of a table.
 *
 * Two plans are casts of one mould if their text is the same but for OIDs and costs. The
 * OIDs stand in the range table and in the scan of an index. An ON CONFLICT has more.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "pando/compat/rights.h"
#include "pando/planner/local/lookup_plan.h"
#include "pando/planner/local/mould.h"

/* What is larger goes through the caches in whole anyway, and its text is larger still.
 */
#define MAX_BYTES (64 * 1024)

typedef struct MouldEntry
{
	uint64 key;
	Mould *mould;
} MouldEntry;

static HTAB *moulds = NULL;

/* The place of the index in a look-up's plan; NULL: it has none. */
static Oid *
index_place(const PlannedStmt *stmt)
{
	Plan *plan = stmt->planTree;

	while (plan->lefttree != NULL)
		plan = plan->lefttree;
	if (IsA(plan, IndexScan))
		return &((IndexScan *) plan)->indexid;
	return IsA(plan, IndexOnlyScan) ? &((IndexOnlyScan *) plan)->indexid : NULL;
}

static int
oid_count(const PlannedStmt *stmt)
{
	return list_length(stmt->rtable) + 1;
}

static void
take_oids(const PlannedStmt *stmt, Oid *oids)
{
	Oid *index = index_place(stmt);

	foreach_ptr (RangeTblEntry, rte, stmt->rtable)
		*oids++ = rte->relid;
	if (index != NULL)
		*oids = *index;
}

static void
put_oids(PlannedStmt *stmt, const Oid *oids)
{
	Oid *index = index_place(stmt);

	foreach_ptr (RangeTblEntry, rte, stmt->rtable)
	{
		rte->relid = *oids++;
		plan_rights_follow(stmt, rte);
	}
	if (index != NULL)
		*index = *oids;
}

static bool
is_mouldable(const PlannedStmt *stmt)
{
	return plan_is_lookup(stmt) &&
		   !(IsA(stmt->planTree, ModifyTable) &&
			 ((ModifyTable *) stmt->planTree)->onConflictAction != ONCONFLICT_NONE);
}

/* The plan's text without OIDs and costs; NULL where it has long constants. */
static char *
form_of(const PlannedStmt *stmt)
{
	MemoryContext scratch = AllocSetContextCreate(
		CurrentMemoryContext, "pando mould form", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	PlannedStmt *copy = copyObject(unconstify(PlannedStmt *, stmt));
	char *form = NULL;

	put_oids(copy, palloc0(sizeof(Oid) * oid_count(copy)));
	copy->relationOids = NIL;
	for (Plan *plan = copy->planTree; plan != NULL; plan = plan->lefttree)
		plan->startup_cost = plan->total_cost = plan->plan_rows = 0;
	MemoryContextSwitchTo(old);
	if (MemoryContextMemAllocated(scratch, false) <= MAX_BYTES)
		form = nodeToString(copy);
	MemoryContextDelete(scratch);
	return form;
}

static MouldEntry *
mould_entry(uint64 key, HASHACTION action)
{
	if (moulds == NULL)
	{
		HASHCTL control = {.keysize = sizeof(uint64),
						   .entrysize = sizeof(MouldEntry),
						   .hcxt = TopMemoryContext};

		moulds = hash_create("pando moulds", 64, &control,
							 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	return hash_search(moulds, &key, action, NULL);
}

static Mould *
mould_make(uint64 key, const PlannedStmt *stmt, const char *form)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "pando mould", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Mould *mould = palloc0(sizeof(Mould));

	mould->key = key;
	mould->context = context;
	mould->stmt = copyObject(unconstify(PlannedStmt *, stmt));
	mould->form = pstrdup(form);
	MemoryContextSwitchTo(old);
	mould_entry(key, HASH_ENTER)->mould = mould;
	MemoryContextSetParent(context, CacheMemoryContext);
	return mould;
}

static void
cast_dropped(void *arg)
{
	Mould *mould = arg;
	MouldEntry *entry;

	if (--mould->casts > 0)
		return;
	entry = mould_entry(mould->key, HASH_FIND);
	if (entry != NULL && entry->mould == mould)
		(void) mould_entry(mould->key, HASH_REMOVE);
	MemoryContextDelete(mould->context);
}

Cast *
mould_cast(uint64 key, const PlannedStmt *stmt, MemoryContext owner)
{
	MouldEntry *entry;
	Mould *mould;
	Cast *cast;
	MemoryContextCallback *callback;
	char *form = is_mouldable(stmt) ? form_of(stmt) : NULL;

	if (form == NULL)
		return NULL;
	cast =
		MemoryContextAlloc(owner, offsetof(Cast, oids) + sizeof(Oid) * oid_count(stmt));
	callback = MemoryContextAlloc(owner, sizeof(MemoryContextCallback));
	entry = mould_entry(key, HASH_FIND);
	mould = entry != NULL && strcmp(entry->mould->form, form) == 0
				? entry->mould
				: mould_make(key, stmt, form);
	pfree(form);
	cast->mould = mould;
	take_oids(stmt, cast->oids);
	mould->casts++;
	callback->func = cast_dropped;
	callback->arg = mould;
	MemoryContextRegisterResetCallback(owner, callback);
	return cast;
}

PlannedStmt *
mould_take(const Cast *cast)
{
	Mould *mould = cast->mould;
	PlannedStmt *stmt = mould->taken ? copyObject(mould->stmt) : mould->stmt;

	put_oids(stmt, cast->oids);
	mould->taken = true;
	return stmt;
}

void
mould_give_back(const Cast *cast, const PlannedStmt *stmt)
{
	if (stmt == cast->mould->stmt)
		cast->mould->taken = false;
}
