/*
 * mould.h: one plan for all shards of a table.
 *
 * A server has as many tables for a distributed one as it has shards. Kept plans that
 * differ in nothing but the tables' OIDs would each have to be in memory, with a kept
 * execution each, and to come into the processor's caches for a statement that reaches
 * one row; so there is one, and the OIDs of each shard. With 512 shards and two
 * statements a backend has 12 MB, where it would have 62, and takes a tenth to a fifth
 * less time; with 32 shards there is hardly a difference.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_MOULD_H
#define PANDO_PLANNER_MOULD_H

#include "pando/compat/compat.h"
#include "nodes/plannodes.h"

typedef struct Mould
{
	uint64 key;
	MemoryContext context; /* of this and of all that it points to */
	PlannedStmt *stmt;	   /* with the OIDs of some cast */
	char *form;			   /* its text without what a cast has of its own */
	int casts;
	bool taken;
} Mould;

/* What a plan puts into its mould. */
typedef struct Cast
{
	Mould *mould;
	Oid oids[FLEXIBLE_ARRAY_MEMBER]; /* of the range table's entries, and of an index */
} Cast;

/*
 * The plan as a cast of the mould of that key, which is made anew if there is none yet or
 * it has another form. NULL: the plan is not that of a look-up, or is large. The cast
 * lives as long as `owner`, the mould as long as its casts.
 */
extern Cast *mould_cast(uint64 key, const PlannedStmt *stmt, MemoryContext owner);

/*
 * The plan for one execution, to be given back at its end: the mould itself, or a copy in
 * the current memory context while the mould is in use.
 */
extern PlannedStmt *mould_take(const Cast *cast);
extern void mould_give_back(const Cast *cast, const PlannedStmt *stmt);

#endif
