/*
 * column_use.h: which columns of a FROM item its level reads; those of subqueries that it
 * doesn't go.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_COLUMN_USE_H
#define PANDO_PLANNER_COLUMN_USE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

typedef struct ColumnUse
{
	Index varno;
	Index depth; /* while a query inside the level is looked at */
	bool whole_row;
	bool system; /* a system column, or what is_shard_call() says */
	Bitmapset *columns;
} ColumnUse;

/* What the level and the queries in it read of its FROM item. */
extern ColumnUse column_use(Query *level, Index varno);

/* Is it a shard call (is_shard_call()) about a row of that FROM item? */
extern bool is_shard_call_for(Node *node, Index varno, Index depth);

/*
 * Columns of the level's subqueries that it doesn't read become NULL, as in PostgreSQL's
 * planner: they are not computed, raise no error, and nothing they need travels. In place.
 */
extern void level_drop_unread_columns(Query *level);

#endif
