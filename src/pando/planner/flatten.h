/*
 * flatten.h: a query in the form that the planner's analysis reads.
 */
#ifndef PANDO_PLANNER_FLATTEN_H
#define PANDO_PLANNER_FLATTEN_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Columns of joins become the columns of the joined tables, at every level. Returns the
 * query itself when it has no joins, else a copy.
 */
extern Query *query_without_join_columns(Query *query);

/*
 * Lists the columns of the level's joins anew, after items below them got more of them.
 * No reference to a join's own columns may be there any more.
 */
extern void level_join_columns_refresh(Query *query);

#endif
