/*
 * row_number.h: row_number() as a column.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_ROW_NUMBER_H
#define PANDO_PLANNER_ROW_NUMBER_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * row_number() OVER (PARTITION BY those columns of the query, by number), to be put in
 * the target list of the query, which has no window yet. Types without an equality raise
 * an error.
 */
extern Node *row_number_over(Query *query, List *columns);

#endif
