/*
 * part.h: parts of a query level as queries of their own.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_PART_H
#define PANDO_PLANNER_PART_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * SELECT <nothing yet> FROM items WHERE quals, with copies of what it needs of the level,
 * range table numbers unchanged. WITH queries that it refers to come along. Row-level
 * security of its tables becomes a part of its WHERE, but for those whose rows an outer
 * join may leave out: there the nodes' own policies do.
 */
extern Query *part_make(Query *query, List *items, List *quals);

/* Adds an output column, or finds it; returns its number. */
extern int part_column(Query *part, Node *expr, const char *name);

/* The same for one that must be a column of its own. */
extern int part_add_column(Query *part, Node *expr, const char *name);

/*
 * The query level, in place, becomes a scan of a fragment that yields its target list;
 * DISTINCT, ORDER BY and LIMIT stay.
 */
extern void level_become_scan(Query *query, RangeTblEntry *fragment);

#endif
