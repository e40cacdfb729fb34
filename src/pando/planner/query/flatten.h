/*
 * flatten.h: a query in the form that the planner's analysis reads.
 */
#ifndef PANDO_PLANNER_FLATTEN_H
#define PANDO_PLANNER_FLATTEN_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * A copy in which columns of joins have become the columns of the joined tables, at every
 * level.
 */
extern Query *query_without_join_columns(Query *query);

/*
 * tableoid of a reference table becomes the shell table's Oid, in place. For queries that
 * are evaluated here: nodes know the table by another Oid.
 */
extern void query_give_shell_oids(Query *query);

/*
 * The same for an expression of a level, and for all tables without children, but not in
 * the queries of sublinks.
 */
extern Node *expression_with_shell_oids(Node *expr, Query *level);

/* As the core does it when it pulls up a subquery. A NULL row becomes a row of NULLs. */
extern RowExpr *whole_row_of_columns(RangeTblEntry *rte, const Var *var, int levels_up);

/*
 * Whole rows of a FROM item become rows of the columns that it has now, in place: it is
 * about to get more of them. It is a table, or no outer join may leave it out. The range
 * table gets new entries.
 */
extern void level_fix_whole_rows(Query *query, Index varno);

/*
 * Lists the columns of the level's joins anew, after items below them got more of them.
 * No reference to a join's own columns may be there any more.
 */
extern void level_join_columns_refresh(Query *query);

#endif
