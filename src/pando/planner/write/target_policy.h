/*
 * target_policy.h: row-level security of a table that is changed, and the barriers of the
 * views through which it is.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_TARGET_POLICY_H
#define PANDO_PLANNER_TARGET_POLICY_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * The statement without the row-level security of its target, which the shards have
 * themselves; the same Query if there is none.
 */
extern Query *query_without_target_policies(Query *query);

/*
 * The statement, and those in its WITH, with the WHERE clauses of the security_barrier
 * views through which tables are changed among their conditions, and safe there from the
 * others; the same Query if there are none.
 */
extern Query *query_with_barriers_as_quals(Query *query);

/*
 * Does a change read no column of its target? Then no policies of SELECT are asked of its
 * rows, but whoever names a row on a shard reads it.
 */
extern bool target_is_unread(const RangeTblEntry *target);

/* Do policies bind whoever changes the table with this entry? */
extern bool target_has_policies(const RangeTblEntry *target);

/* Is it an UPDATE that reads no column of its target, whose policies bind the client? */
extern bool update_is_blind(const Query *query);

/*
 * Would shards ask more of a change than PostgreSQL does? The condition of a view and
 * WHERE CURRENT OF read columns without the right to SELECT, and without its policies.
 */
extern bool target_is_read_unasked(const Query *query);

/* The statement with these conditions of its target, which nobody else will check. */
extern void level_take_policies(Query *query, List *policies);

/*
 * Has a table used with the rights of somebody whom its policies don't bind, once the
 * client's have been checked: of its owner or, where they bind him, too, of the
 * extension's.
 */
extern void entry_use_past_policies(RangeTblEntry *rte, AclMode rights);

/*
 * Distributed tables that the role owns whose rights they are used with, and whose
 * policies bind owners, are used like that: as InNoForceRLSOperation() has it, in the
 * actions of foreign keys.
 */
extern void query_use_past_forced_policies(Query *query);

#endif
