/*
 * joined_copies.h: correlated aggregates over reference tables, once per task.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_JOINED_COPIES_H
#define PANDO_PLANNER_JOINED_COPIES_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* The query with such aggregates joined, where that costs less; else as it is. */
extern Query *query_with_copies_joined(Query *query);

#endif
