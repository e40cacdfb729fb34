/*
 * relation_query.h: a table of a query level as a query of its own.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_RELATION_QUERY_H
#define PANDO_PLANNER_RELATION_QUERY_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * SELECT of the table's columns, each under its own number, NULL for those that the level
 * doesn't use, with the filters that concern the table alone. NULL (the pointer) when the
 * level uses a system column.
 */
extern Query *relation_as_query(Query *level, Index varno);

/*
 * The table, in place, becomes such a subquery, which is returned and takes a copy of its
 * lock. System columns are columns of it.
 */
extern Query *relation_become_subquery(Query *level, Index varno);

#endif
