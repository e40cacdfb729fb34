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

#endif
