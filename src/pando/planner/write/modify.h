/*
 * modify.h: UPDATE and DELETE.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_MODIFY_H
#define PANDO_PLANNER_MODIFY_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"

/* `given`: with the policies of its target, which `query` is without. */
extern Fragment *change_fragment(Query *given, Query *query, const DistTable *target);

/* That of an UPDATE or DELETE of rows_numbered_by_line(), the last of its range table. */
extern Fragment *change_of_lines_fragment(Query *query, const DistTable *target);

/* That of change_of_first_row(). */
extern Fragment *change_of_first_row_fragment(Query *query, const DistTable *target,
											  List *quals);

#endif
