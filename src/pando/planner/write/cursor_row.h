/*
 * cursor_row.h: WHERE CURRENT OF.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_CURSOR_ROW_H
#define PANDO_PLANNER_CURSOR_ROW_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/*
 * A cursor's query whose rows say which rows of distributed tables they are, in columns
 * after its own; NULL: there is no such table that WHERE CURRENT OF could change.
 */
extern Query *query_with_cursor_rows(Query *query);

/* Has it those columns? */
extern bool query_has_cursor_rows(const Query *query);

/* Makes junk of the columns that the plan of such a query has more than the original. */
extern void plan_hide_cursor_rows(PlannedStmt *stmt, const Query *original);

/* Of UPDATE and DELETE of a distributed table: CURRENT OF as conditions on the row. */
extern Query *query_with_cursor_conditions(Query *query);

#endif
