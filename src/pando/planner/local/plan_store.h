/*
 * plan_store.h: plans that this backend keeps beyond PostgreSQL's own plan cache.
 *
 * A store is a bounded set of StoredPlans found by a hash; the one used longest ago makes
 * room. A plan is dropped when a relation it was made for changes, or a function, type,
 * operator or schema anywhere. Whoever runs a plan pins it: it stays in memory until it
 * is unpinned, though it may not be found any more.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_PLAN_STORE_H
#define PANDO_PLANNER_PLAN_STORE_H

#include "pando/compat/compat.h"
#include "lib/ilist.h"
#include "nodes/plannodes.h"
#include "pando/planner/local/mould.h"

/* The head of what a store keeps; the rest is the store's owner's. */
typedef struct StoredPlan
{
	dlist_node link; /* most recently used first */
	uint64 hash;
	MemoryContext context; /* of this and of all that it points to */
	PlannedStmt *stmt;
	Cast *cast;		 /* its OIDs, where stmt is a mould; NULL: stmt is its own */
	List *relations; /* Oids */
	bool valid;		 /* nothing it was made for has changed */
	bool listed;	 /* the store can still find it */
	int pins;
} StoredPlan;

typedef struct PlanStore PlanStore;

/* A store with room for that many plans; lives as long as the backend. */
extern PlanStore *plan_store_create(const char *name, int capacity);

/* The valid plan with that hash, or NULL. The caller checks that it is the right one. */
extern StoredPlan *plan_store_find(PlanStore *store, uint64 hash);

/*
 * A new plan of `size` bytes with a memory context of its own, in which the caller goes
 * on to build it. Nobody finds it before plan_store_keep(); an error in between is to be
 * followed by MemoryContextDelete(plan->context).
 */
extern StoredPlan *plan_store_new(Size size);

/* Fills in the plan, as a cast of the mould of that key if it can be one. */
extern void plan_store_fill(StoredPlan *plan, PlannedStmt *stmt, uint64 mould);

/* Puts a plan, `stmt` and `relations` filled in, in the place of any other of its hash.
 */
extern void plan_store_keep(PlanStore *store, StoredPlan *plan, uint64 hash);

/*
 * Locks what the plan uses, as for a plan from PostgreSQL's own cache, but for relations
 * of `rtable`, whose locks are held. False: waiting has shown that it is out of date.
 */
extern bool plan_store_lock(const StoredPlan *plan, List *rtable);

extern void plan_store_pin(StoredPlan *plan);
extern void plan_store_unpin(StoredPlan *plan);

#endif
