/*
 * view.h: views and materialized views on all nodes.
 */
#ifndef PANDO_DDL_VIEW_H
#define PANDO_DDL_VIEW_H

#include "pando/compat/compat.h"

#include "pando/ddl/handler.h"

/* Is it a view, materialized or not, that all nodes have? */
extern bool view_is_everywhere(Oid relid);

/* If the relation is a view that all nodes have, the statement is about it. */
extern void view_prepare(DdlJob *job, RangeVar *relation);

/* Views of this node that were made since in a schema (CREATE SCHEMA ... CREATE VIEW). */
extern List *view_in_schema(Oid schema);

/*
 * Commands (List of char *) that make a materialized view's rows on another node what
 * they are here. `run` gets them in turn, some megabyte at a time.
 */
extern void view_rows_each(Oid relid, void (*run)(const char *sql, void *arg), void *arg);

/* The same for all other nodes, in the transaction. */
extern void view_rows_send(Oid relid);

/* Makes on the other nodes what stands on a table that is there now, and can be. */
extern void view_follow_table(Oid relid);

/* The table's shells are about to go, and what stands on them: it is this node's alone.
 */
extern void view_leave_table(Oid relid);

#endif
