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
 * in words for a user. An assignment to the distribution column is taken for one that
 * doesn't change it.
 */
extern Query *change_computed_here(Query *query, const DistTable *target,
								   const char **why);

/* Rows with a row's line, which is that column, and its number among those that have the
 * same, as the last columns. */
extern Query *rows_numbered_by_line(Query *rows, int line);

/* The last item of the change's range table is computed here, and known to all shards. */
extern void change_compute_source(Query *change);

/*
 * What change_computed_here() gives of a table with several copies and no primary key, to
 * be completed once it is known that it can stand on the copies: each copy numbers the
 * rows that have the same in all columns, and changes those with the numbers of rows that
 * were found. Which of them that is makes no difference.
 */
extern Query *change_of_numbered_rows(Query *change, const DistTable *target);

/* A change of such a table for one of the rows that these conditions leave of it, at 1 in
 * the range table: rows that are the same. The change has them, too. */
extern Query *change_of_first_row(Query *change, const DistTable *target, List *quals);

/* change_computed_here() where that item, the last of the range table, is left a
 * subquery; not of such a table. *identity: the numbers of its columns that name the row.
 */
extern Query *change_of_found_rows(Query *query, const DistTable *target, List **identity,
								   const char **why);

/* How PostgreSQL locks a row that the UPDATE, of no key column, or DELETE changes. */
extern LockClauseStrength lock_of_change(const Query *query);

/*
 * A query that gives the rows which the UPDATE or DELETE, one without columns of joins,
 * is about, and locks them: for each what these expressions of the statement's level are.
 * NULL where that can't be had, and *why then says why.
 */
extern Query *rows_of_change(Query *query, const DistTable *target,
							 LockClauseStrength lock, List *exprs, const char **why);

/* Does each row to change come once, as there is nothing that it is joined with? */
extern bool rows_come_once(const Query *query);

/* Of those rows the first one of each identity, which is in these columns. */
extern Query *rows_taken_once(Query *rows, List *identity);

/*
 * What WHERE says of the row alone, whether it is computed once or twice: it tells the
 * shard group, and an index may serve it.
 */
extern List *repeatable_quals(Query *query);

/* Keys that the rows to change are known to have. */
extern List *keys_of_rows(Query *query);

#endif
