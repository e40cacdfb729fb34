/*
 * exists.h: what EXISTS asks for is a row, whatever is in it.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_EXISTS_H
#define PANDO_PLANNER_EXISTS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* The subqueries of EXISTS, in place, on all levels, yield no columns that nobody reads.
 */
extern void query_simplify_exists(Query *query);

/*
 * What the level's WHERE says with AND-ed EXISTS becomes items of FROM, in place. The
 * rows are the same ones, but come as often as it finds some.
 */
extern void level_exists_as_items(Query *level);

/* NOT EXISTS (SELECT FROM rows WHERE quals): the query gets these, and becomes part of
 * it.
 */
extern Node *none_of(Query *rows, List *quals);

#endif
