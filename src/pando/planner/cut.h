/*
 * cut.h: parts of a query level as queries of their own, and fragments in their place.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_CUT_H
#define PANDO_PLANNER_CUT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/planner/distribution.h"
#include "pando/planner/estimate.h"

/*
 * SELECT <nothing yet> FROM items WHERE quals, with copies of what it needs of the level,
 * range table numbers unchanged. WITH queries that it refers to come along. Row-level
 * security of its tables becomes a part of its WHERE.
 */
extern Query *part_make(Query *query, List *items, List *quals);

/* Adds an output column, or finds it; returns its number. */
extern int part_column(Query *part, Node *expr, const char *name);

/* The part as a fragment, in a FROM item. It gets a column if it has none. */
extern RangeTblEntry *part_fragment(Query *part, const Distribution *distribution);

/*
 * The same for a part whose grouping, DISTINCT and LIMIT each task does for itself, so
 * that the rows are still to be put together.
 */
extern RangeTblEntry *part_fragment_per_task(Query *part,
											 const Distribution *distribution);

/* The same for partial aggregates, which nodes may compute over all of their tasks. */
extern RangeTblEntry *part_fragment_of_groups(Query *part,
											  const Distribution *distribution);
extern RangeTblEntry *
part_fragment_estimated(Query *part, const Distribution *distribution, Estimate estimate);

/* Does the distribution name shards (not only reference tables)? */
extern bool distribution_has_shards(const Distribution *distribution);

/*
 * The query level, in place, becomes a scan of a fragment that yields its target list;
 * DISTINCT, ORDER BY and LIMIT stay.
 */
extern void level_become_scan(Query *query, RangeTblEntry *fragment_rte);

/*
 * Replaces in the level's FROM each group of items that can be evaluated on the shards by
 * a fragment with the qualifications that belong to it; all references are redirected.
 */
extern void level_cut_from(Query *query);

/*
 * Makes a fragment of one table of the level, as it is on another node; all references to
 * it are redirected, places of its rows included. WHERE stays whole.
 */
extern void level_cut_table(Query *query, Index varno);

/* Are there policies of the table that nodes can't evaluate? */
extern bool policies_are_for_here(Query *query, Index varno);

/*
 * A table with policies becomes a subquery that filters by them, a security barrier, so
 * that it can be cut inside; false if it can't be, or has none.
 */
extern bool level_put_barrier(Query *query, Index varno);

/* Makes one fragment of all of the level's FROM and WHERE, which must be fit for it. */
extern void level_cut_whole(Query *query);

/* Does it use a column of its FROM items that can't be one of a fragment's? */
extern bool level_uses_records(Query *query);

/* The same, except that qualifications with sublinks that don't fit stay. */
extern void level_cut_joined(Query *query);

/* A FROM item that stays to keep the range table's numbers, but is nothing. */
extern RangeTblEntry *unused_rte(void);

/* After fragments have taken what they need a WITH query may have lost all of its uses.
 */
extern void level_drop_unused_ctes(Query *query);

/* The same at all levels, in place. */
extern void query_drop_unused_ctes(Query *query);

/* Has a table of the level policies, so that filters must not be evaluated in any order?
 */
extern bool level_has_row_security(Query *query);

/* Columns or aggregates of queries above the expression's own level? */
extern bool expression_refers_outside(Node *expr);

/* The same for a whole query; with_queries: WITH queries of a level above count, too. */
extern bool query_refers_outside(Query *query, bool with_queries);

/* Is each row of FROM that passes WHERE one row of the result, and none locked? */
extern bool query_is_plain(const Query *query);

/* AND-ed qualifications as one expression or NULL. */
extern Node *quals_as_node(List *quals);

/* Aggregation split between shards and residual; false if the level isn't fit for it. */
extern bool level_split_aggregates(Query *query);

#endif
