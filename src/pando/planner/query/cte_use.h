/*
 * cte_use.h: who refers to the WITH queries of a level; those that nobody does go.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_CTE_USE_H
#define PANDO_PLANNER_CTE_USE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* Of a FROM item so many levels below the one that has the WITH query. It may change it.
 */
typedef void (*CteUse)(RangeTblEntry *rte, int depth, void *context);

/*
 * Calls it for each FROM item in the level `query`, and below, that refers to a WITH
 * query of that level: the one with the name, or any (NULL). Returns how many there are.
 * `use` may be NULL.
 */
extern int cte_each_use(Query *query, const char *name, CteUse use, void *context);

/* The same for a part of a level: an expression, or a Query that is below it. */
extern int cte_each_use_in(Node *part, const char *name, CteUse use, void *context);

/* Drops SELECTs of WITH that nobody refers to, as when fragments have taken what they
 * need. */
extern void level_drop_unused_ctes(Query *query);

/* The same at all levels, in place. */
extern void query_drop_unused_ctes(Query *query);

#endif
