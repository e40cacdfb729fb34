/*
 * decorrelate.h: sublinks that refer to the rows they are evaluated for, without it.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_DECORRELATE_H
#define PANDO_PLANNER_DECORRELATE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* May sublinks of the level's WHERE be joins, or tests of values? */
extern bool level_may_decorrelate(Query *query);

/*
 * Rewrites, in place, correlated sublinks of the level's WHERE that can't be evaluated
 * next to its rows, and draws from OR conditions what they say of single FROM items. The
 * rows stay the same. False: nothing changed.
 */
extern bool level_decorrelate(Query *query);

/*
 * Of all levels the correlated aggregates alone, which PostgreSQL computes row by row
 * (EXISTS it makes a join itself). lookups: as LATERAL subqueries that an index finds the
 * rows of, so that PostgreSQL keeps what was found for values that come again, but not
 * those that the distribution column's index finds as they are; else as a join with all
 * that can occur. False: nothing changed.
 */
extern bool query_join_aggregates(Query *query, bool lookups);

/* Those over rows that every node has, for all values; the queries that are joined now.
 */
extern List *query_join_copies(Query *query);

/* EXISTS of the level's WHERE as value IN (SELECT ...), which may be NULL instead of
 * false; NULL: more than equalities tie it to its row, or it can be evaluated next to it.
 */
extern Node *sublink_exists_as_any(Query *level, SubLink *sublink);

#endif
