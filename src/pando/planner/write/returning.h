/*
 * returning.h: RETURNING with what no shard can compute.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_RETURNING_H
#define PANDO_PLANNER_RETURNING_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* Does RETURNING need this node: subqueries in an INSERT's, or what no shard evaluates?
 */
extern bool returning_is_computed_here(Query *query);

/*
 * Splits a write: it becomes one that returns columns, *cte, and the result is the SELECT
 * that computes RETURNING over those rows, at the level where the WITH query is `up`
 * above.
 */
extern Query *returning_split(Query *write, const char *name, CommonTableExpr **cte,
							  Index up);

#endif
