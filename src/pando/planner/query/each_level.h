/*
 * each_level.h: the levels of a query tree, one by one.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_EACH_LEVEL_H
#define PANDO_PLANNER_EACH_LEVEL_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* True: it has seen enough. */
typedef bool (*LevelVisit)(Query *level, void *context);

/*
 * Visits the query and all queries in it: those of WITH, subqueries in FROM, sublinks.
 * A level comes before those inside it, which are the ones it has after the visit. True
 * as soon as a visit gives true.
 *
 * For all that is asked of levels and their range tables: expressions are looked through
 * for sublinks only, where there are any.
 */
extern bool query_each_level(Query *query, LevelVisit visit, void *context);

/* From inside to outside: levels that come about by a visit are not visited. */
extern bool query_each_level_inner_first(Query *query, LevelVisit visit, void *context);

#endif
