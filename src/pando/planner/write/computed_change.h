/*
 * computed_change.h: UPDATE and DELETE with what no shard can compute.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_COMPUTED_CHANGE_H
#define PANDO_PLANNER_COMPUTED_CHANGE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/metadata/table.h"

/*
 * The change with all that is to be computed in one FROM item: a query that gives the
 * rows to change, which it locks, and their new values. Its rows are to be read first;
 * the item becomes a read of them. NULL where that can't be had, and *why then says why,
 * in words for a user. Raises an error if the distribution column would change.
 */
extern Query *change_computed_here(Query *query, const DistTable *target,
								   const char **why);

/*
 * A query that gives the rows which the UPDATE or DELETE, one without columns of joins,
 * is about, and locks them: for each what these expressions of the statement's level are.
 * Raises an error if it can't be had.
 */
extern Query *rows_of_change(Query *query, const DistTable *target, List *exprs);

/* Attribute numbers of the primary key, in a list; NIL: there is none. */
extern List *primary_key(Oid relid);

#endif
