/*
 * union.h: queries of the same columns as one.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_UNION_H
#define PANDO_PLANNER_UNION_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * The queries, of the same columns, under UNION, or UNION ALL. They become its
 * subqueries: what they refer to outside, they must refer to a level further up.
 */
extern Query *query_union(List *queries, bool all);

#endif
