/*
 * source_value.h: columns of FROM items of one row, as the values that they have.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SOURCE_VALUE_H
#define PANDO_PLANNER_SOURCE_VALUE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * A copy of the expression of the level in which columns that have the same value in
 * every row, and whose expression stands in FROM (SELECT $1 AS id, VALUES (1, 2)), are
 * that expression.
 */
extern Node *expression_with_source_values(Node *expr, Query *level);

#endif
