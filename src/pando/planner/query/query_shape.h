/*
 * query_shape.h: questions about a query tree that know nothing of shards.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_QUERY_SHAPE_H
#define PANDO_PLANNER_QUERY_SHAPE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* Has a table of the level policies, so that filters must not be evaluated in any order?
 */
extern bool level_has_row_security(Query *query);

/* Columns or aggregates of queries above the expression's own level? */
extern bool expression_refers_outside(Node *expr);

/* The same for a whole query, or WITH queries of levels above it? */
extern bool query_refers_outside(Query *query);

/* Does a LIMIT or OFFSET leave rows out? */
extern bool clause_limits(Node *limit);

/* Is each row of FROM that passes WHERE one row of the result, and none locked? */
extern bool query_is_plain(const Query *query);

/*
 * Anonymous rows among the columns? They would lose their field names on the way, and an
 * array of them can't be read at all.
 */
extern bool has_record_columns(List *target_list, bool junk_too);

/* Volatile functions of any kind, those that may run anywhere included; no sublinks'
 * queries. */
extern bool expression_varies(Node *node);

/* The same for a whole query tree, with sublinks and subqueries. */
extern bool query_varies(Node *node);

/* The columns that come out, and junk: SELECT's, or RETURNING's. */
extern List *query_output(const Query *query);

#endif
