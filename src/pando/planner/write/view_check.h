/*
 * view_check.h: what views ask of the rows that are written through them.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_VIEW_CHECK_H
#define PANDO_PLANNER_VIEW_CHECK_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * The statement, and those in its WITH, with what views ask of the rows that are written
 * through them (WITH CHECK OPTION), or met by ON CONFLICT, as expressions in RETURNING
 * and in the condition of DO UPDATE (view_check.c); the same Query if they ask nothing.
 * Rows of a RETURNING that it didn't have are for nobody.
 */
extern Query *query_with_view_checks(Query *query);

#endif
