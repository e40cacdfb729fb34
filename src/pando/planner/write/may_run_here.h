/*
 * may_run_here.h: fragments whose only shard group may turn out to be on this node.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_MAY_RUN_HERE_H
#define PANDO_PLANNER_MAY_RUN_HERE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"
#include "pando/planner/where/point.h"

/* Would the statement run the same on the shards? */
extern bool may_stand_on_shards(Query *query);

/* Is the only copy of the shard group, if there is one of that index, on this node? */
extern bool shard_is_only_here(const DistTable *table, int index);

/* Has this node a copy of each shard group? */
extern bool all_shards_are_here(const DistTable *table);

/* Index of the first such shard group; -1: there is none. */
extern int first_shard_here(const DistTable *table);

/*
 * The plan of an INSERT whose ON CONFLICT can be evaluated here alone, into the shard
 * that a parameter decides: an error, when it starts, unless that is here. NULL if it
 * can't be had.
 */
extern PlannedStmt *plan_point_later(Query *query, const Point *point,
									 int cursor_options);

/*
 * Lets the fragment, which is the whole of the statement and needs the one shard group of
 * `key` (NULL: of a table that has but one), run by PostgreSQL's plan where that group is
 * here.
 */
extern void fragment_may_run_here(Fragment *fragment, Query *query, Node *key,
								  int cursor_options);

#endif
