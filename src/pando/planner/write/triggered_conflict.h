/*
 * triggered_conflict.h: ON CONFLICT DO UPDATE of tables whose triggers fire here.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_TRIGGERED_CONFLICT_H
#define PANDO_PLANNER_TRIGGERED_CONFLICT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "utils/rel.h"

#include "pando/metadata/table.h"

/* Has the INSERT ON CONFLICT DO UPDATE? */
extern bool conflict_updates(const Query *query);

/* Is it DO UPDATE, and has what it sets, or its condition, to be computed in this
 * backend, and can that be? */
extern bool conflict_is_computed_here(const Query *query, const DistTable *target);

/* The columns (int list) whose values the conflicting row has in common with the row to
 * insert. Raises feature_not_supported for what can't be computed here. */
extern List *conflict_columns(const Query *insert, Relation table);

/*
 * The INSERT whose condition asks the policies, too, which `given` still has: is the row
 * that conflicts one that the client may update? Tells if there are any; that row has to
 * be found as the table's owner then. Raises feature_not_supported.
 */
extern Query *query_with_conflict_policies(const Query *insert, const Query *given,
										   const DistTable *target, bool *secured);

/* UPDATE of the row that conflicts with the one whose columns are $1 and on; it assigns
 * nothing. */
extern Query *conflict_update(const Query *insert, Relation table);

/*
 * What that reads besides, since it needs subqueries: the condition and new values, in
 * this order, over the row that conflicts. The client's parameters come after those of
 * the change of a row. reads: the tables that subqueries read (Oids, roots of
 * partitions). Raises feature_not_supported.
 */
extern List *conflict_computed(const Query *insert, Relation table, List **reads);

/* What PostgreSQL's executor computes: the new values and the condition, with what stands
 * for those that were read. `target`: the table in the finished plan's range table. */
extern void conflict_set(ModifyTable *modify, const Query *insert, Index target,
						 const List *computed);

#endif
