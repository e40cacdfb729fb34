/*
 * group_by.h: columns that a primary key determines, and GROUP BY doesn't name.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_GROUP_BY_H
#define PANDO_PLANNER_GROUP_BY_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Names such columns of the level in its GROUP BY, in place, before a table of it becomes
 * something else. Returns false, and leaves it as it is, where there are grouping sets or
 * a column's type has no equality.
 */
extern bool level_group_by_determined(Query *query);

#endif
