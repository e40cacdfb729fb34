/*
 * row_identity.h: which row of a table it is, as values that are read first and then name
 * the row to be changed.
 *
 * It is the row's ctid among the rows of all shards, and of partitions, which number
 * their rows each by itself, the place as well: the row is locked, so that it stays where
 * it is. A row of which there are several copies has its primary key. Without one there
 * is what it has in all columns: of rows that have the same there, any may be changed on
 * each copy.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_ROW_IDENTITY_H
#define PANDO_PLANNER_ROW_IDENTITY_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/metadata/table.h"

/* Attribute numbers of the primary key, in a list; NIL: there is none. */
extern List *primary_key(Oid relid);

/* The column of the relation at that number of a range table. */
extern Var *var_of_attribute(Index varno, Oid relid, AttrNumber number);

/* Has the table several copies, and no primary key? */
extern bool rows_have_no_name(const DistTable *table);

/* The text of the row's columns, over the relation at that number of a range table. */
extern Node *row_line(Index varno, Oid relid);

/* Expressions over the table, which is at that number of a range table. Rows without a
 * name have their place, which is that of the copy that they are read from. */
extern List *row_identity(const DistTable *table, Index varno);

/* a = b, by the type's own equality. */
extern Node *same_value(Node *a, Node *b);

/* Conditions: the row of the table is the one that these values name, in that order. */
extern List *row_is(const DistTable *table, Index varno, List *values);

#endif
