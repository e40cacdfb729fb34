/*
 * point.h: statements on one table that name one value of its distribution column.
 *
 * The cheapest look at where a statement goes, for the kind that there is most of. What
 * it can't tell is distribution.h's.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_POINT_H
#define PANDO_PLANNER_POINT_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "pando/metadata/table.h"

typedef struct Point
{
	const DistTable *table;
	Node *key; /* an expression of the column's type without Vars; NULL where the table
				* has but one shard */
} Point;

/* Is the query one, with all that it needs in one shard? An integer constant in
 * the row of an INSERT loses its cast. */
extern bool point_of_query(Query *query, Point *point);

/*
 * Index of the point's shard where its key is a constant, or a parameter whose value is
 * given to plan with; -1 where it is known at execution only, or NULL.
 */
extern int point_shard(const Point *point, ParamListInfo params);

#endif
