/*
 * cursor_row.h: how the rows of a cursor say where they come from.
 *
 * The plan of a cursor has junk columns for each table whose rows WHERE CURRENT OF may
 * change: the row's place (row_place.h), under the number of tableoid, and columns that a
 * change of it is found by.
 */
#ifndef PANDO_PLAN_CURSOR_ROW_H
#define PANDO_PLAN_CURSOR_ROW_H

#include "pando/compat/compat.h"
#include "access/attnum.h"
#include "nodes/pg_list.h"

/* The name of that column of the table's; `locked`: by the cursor's FOR UPDATE or SHARE.
 */
extern char *cursor_column_name(Oid relid, AttrNumber column, bool locked);

extern bool cursor_column_is_named(const char *name);

/* pando.cursor_row() instead of a lock: the row is found whatever policies say, and the
 * statement asks them. */
#define CURSOR_ROW_PAST_POLICIES (-1)

typedef struct CursorColumn
{
	int position; /* in the rows, from 1; 0: there is none */
	int count;	  /* of such columns: the table is there so many times */
	bool locks;	  /* the cursor locks rows of some table */
} CursorColumn;

/* Looks for it in a plan's target list. */
extern CursorColumn cursor_column_find(List *targetlist, Oid relid, AttrNumber column);

#endif
