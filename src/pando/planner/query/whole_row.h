/*
 * whole_row.h: rows as values in RETURNING.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_WHOLE_ROW_H
#define PANDO_PLANNER_WHOLE_ROW_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * The statement with values of the target's row type in RETURNING written out as rows of
 * its columns. May share structure with the original.
 */
extern Query *query_with_rows_written_out(Query *query);

#endif
