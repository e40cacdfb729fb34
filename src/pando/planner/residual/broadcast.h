/*
 * broadcast.h: subqueries that run first, so that what uses them can stay on the shards.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_BROADCAST_H
#define PANDO_PLANNER_BROADCAST_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "pando/plan/fragment.h"

/*
 * Replaces subqueries of the level, in place, by reads of intermediate results, as few as
 * are needed for the level's FROM and WHERE (or all of it but DISTINCT, ORDER BY and
 * LIMIT) to be evaluated on the shards. False, and nothing changed, if that can't be had.
 */
extern bool level_broadcast(Query *query);

/*
 * The same for an UPDATE or DELETE, where all tables but the target may be read first, so
 * that the change can be made on the target's shards.
 */
extern bool write_broadcast(Query *query);

/*
 * The same for the subqueries of an INSERT's ON CONFLICT; those that refer to its row
 * stay, and the tables in them are read first. What could not be replaced stays.
 */
extern void conflict_broadcast(Query *insert);

/* A FROM item that reads the rows of the query, which refers to nothing outside. */
extern RangeTblEntry *broadcast_of_query(Query *query, const char *name);

#endif
