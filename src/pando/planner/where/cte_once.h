/*
 * cte_once.h: WITH queries that are computed once.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_CTE_ONCE_H
#define PANDO_PLANNER_CTE_ONCE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Marks the level's WITH queries that are read in several places and might not have the
 * same rows in all of them if each computed them for itself. From then on they are the
 * coordinator's. For a level that is not a fragment as a whole, where each task has its
 * own rows of them.
 */
extern void level_keep_ctes(Query *query);

extern bool cte_is_kept(const CommonTableExpr *cte);

/* It is read in one place now, and may be computed anywhere. */
extern void cte_release(CommonTableExpr *cte);

/* Has the level any that is? */
extern bool level_has_kept_ctes(const Query *query);

#endif
