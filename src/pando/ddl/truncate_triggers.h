/*
 * truncate_triggers.h: TRUNCATE of relations with triggers, in parts, so that the shards
 * can be emptied between those that fire before it and those that fire after it.
 */
#ifndef PANDO_DDL_TRUNCATE_TRIGGERS_H
#define PANDO_DDL_TRUNCATE_TRIGGERS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "utils/rel.h"

/*
 * All that the statement empties, in PostgreSQL's order: what it names, with partitions,
 * then what refers to that (CASCADE); `named` is set to the number of those before.
 * Locked and open; List of Relation. Raises PostgreSQL's errors where it may not be
 * emptied.
 */
extern List *truncate_open(const TruncateStmt *stmt, int *named);

/* Closes them; the locks stay. */
extern void truncate_close(List *relations);

/* Has one of them a trigger of TRUNCATE? */
extern bool truncate_has_triggers(List *relations);

/* Fires those BEFORE the statement, or those AFTER it; but none that shards have. */
extern void truncate_fire(List *relations, bool before);

/* Empties them, restarts identities; fires nothing. A shell has nothing to be emptied. */
extern void truncate_without_triggers(const TruncateStmt *stmt, List *relations);

/* Empties those that have rows on this node themselves; fires nothing, and does not ask
 * what references them. */
extern void truncate_rows(List *relations);

/* Gives the relation new, empty storage, as TRUNCATE does but whatever references it. */
extern void relation_empty(Relation relation);

#endif
