/*
 * broadcast.h: subqueries that run first, so that what uses them can stay on the shards.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_BROADCAST_H
#define PANDO_PLANNER_BROADCAST_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "pando/plan/fragment.h"
#include "pando/planner/cte_use.h"

/*
 * A scope for the results of one residual: what enter returns is given to leave. The scope
 * that planning starts in is to be left to after an error.
 */
extern List *broadcast_enter(void);
extern List *broadcast_scope(void);
extern void broadcast_leave(List *outer);

/*
 * Replaces subqueries of the level, in place, by reads of intermediate results, as few as
 * are needed for the level's FROM and WHERE (or all of it but DISTINCT, ORDER BY and
 * LIMIT) to be evaluated on the shards. False, and nothing changed, if that can't be had.
 */
extern bool level_broadcast(Query *query);

/*
 * The same for an UPDATE or DELETE, where all tables but the target may be read first, so
 * that the change can be made on the target's shards.
 */
extern bool write_broadcast(Query *query);

/*
 * The same for the subqueries of an INSERT's ON CONFLICT; those that refer to its row
 * stay, and the tables in them are read first. What could not be replaced stays.
 */
extern void conflict_broadcast(Query *insert);

/* A FROM item that reads the rows of the query, which refers to nothing outside. */
extern RangeTblEntry *broadcast_of_query(Query *query, const char *name);

/* The FROM functions list of a call that yields a query's columns. */
extern List *broadcast_read_functions(Node *call, Query *query);

/* The result of the scope that a function call reads, NULL: none. */
extern SubResult *broadcast_result_of_call(Node *function);

/* Adds a result, which gets the next number; one that is not needed after all, and all
 * after it, is forgotten again. */
extern void broadcast_add_result(SubResult *result);
extern int broadcast_mark(void);
extern void broadcast_forget(int mark);

/* Is it a read of a result of this scope, which fragment_from_query() callers must add?
 */
extern bool is_broadcast_read(Node *function);

/* Rows that a read of a result of this scope is expected to give; -1 for other calls. */
extern double broadcast_read_rows(Node *function);

/* SubResults that the query reads, in the order to run them. */
extern List *broadcast_results_of(Query *query);

#endif
