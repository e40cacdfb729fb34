/*
 * from_item.h: FROM items that the planner writes itself.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_FROM_ITEM_H
#define PANDO_PLANNER_FROM_ITEM_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * The name of a column of a relation's entry: as the catalog has it for one that was
 * dropped, whose name is empty there. No other can be like that.
 */
extern char *column_name_or_gone(const char *name, AttrNumber number);

/*
 * Names all columns of an entry that was a table or a function that yields a table's
 * rows: their lists of names have empty ones for columns that were dropped, and so has an
 * alias that renames columns. No other kind of item may have them. Tells whether there
 * were any.
 */
extern bool rte_name_all_columns(RangeTblEntry *rte);

/*
 * The entry, in place, becomes one of that kind: only its names stay. A table's dropped
 * columns keep their places: what it becomes must have columns there.
 */
extern void rte_become(RangeTblEntry *rte, RTEKind kind);

/* The same, with the query's columns, which must be those that it had. */
extern void rte_become_subquery(RangeTblEntry *rte, Query *query);

/*
 * An item of FROM of that kind: what it stands for is the caller's to add. Its columns
 * have those names (String).
 */
extern RangeTblEntry *rte_new(RTEKind kind, const char *name, List *columns);

/* The query as an item of FROM. */
extern RangeTblEntry *rte_of_query(const char *name, Query *query);

/* FROM the one item with that number. */
extern FromExpr *from_one(Index varno);

/* The query as one more item of the level's FROM; returns its entry, the range table's
 * last. */
extern RangeTblEntry *level_add_query(Query *level, const char *name, Query *query);

/* SELECT <nothing yet> FROM the entry. */
extern Query *query_from_rte(RangeTblEntry *rte);

/*
 * An item of FROM of no kind yet, with the names and types of what a query yields: its
 * target list or, of a write, RETURNING.
 */
extern RangeTblEntry *rte_of_output(const char *name, Query *query);

/* A reference to the WITH query of the level so many above. */
extern RangeTblEntry *rte_of_cte(CommonTableExpr *cte, Index up);

/* SELECT all columns FROM the entry, which must list their types. */
extern Query *query_of_columns(RangeTblEntry *rte);

/* That column of the query, which is the FROM item with this number. */
extern Var *query_column(Index varno, const Query *query, int number);

/* A FROM item that stays to keep the range table's numbers, but is nothing. */
extern RangeTblEntry *unused_rte(void);

/* SELECT all columns FROM (query) name. */
extern Query *query_over_query(Query *query, const char *name);

#endif
