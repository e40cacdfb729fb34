/*
 * row_locks.h: FOR UPDATE and its relatives where one task can't do it all.
 *
 * Internal to the planner module; row_locks.c has the rules.
 */
#ifndef PANDO_PLANNER_ROW_LOCKS_H
#define PANDO_PLANNER_ROW_LOCKS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

typedef struct LevelLocks
{
	List *here;	 /* RowMarkClause *: of tables that the residual reads itself */
	bool places; /* there are rows on shards to be locked at their places */
	bool skips;	 /* some of them SKIP LOCKED */
} LevelLocks;

/*
 * Takes the locks on shards out of a level: junk columns tell the places of the rows to
 * be locked. Give the result to level_put_locks() once the level is distributed.
 */
extern LevelLocks level_take_locks(Query *query);
extern void level_put_locks(Query *query, const LevelLocks *locks);

/* A limit for the tasks when rows may turn out to be locked by others. */
extern Node *limit_with_reach(Node *limit);

/* After planning: nodes that lock rows at their places, above LockRows nodes. */
extern void plan_put_locks(PlannedStmt *stmt);

/* Tells the core that the plan of a query that locks rows does so. */
extern void plan_mark_locks(PlannedStmt *stmt, const Query *query);

#endif
