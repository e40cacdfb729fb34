/*
 * merge_source.h: what a MERGE reads as one item of FROM.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_MERGE_SOURCE_H
#define PANDO_PLANNER_MERGE_SOURCE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * MERGE INTO t USING a JOIN b ... becomes MERGE INTO t USING (SELECT columns FROM a JOIN
 * b), in place: the last entry of its range table, which is returned. Queries have no
 * columns of joins.
 */
extern RangeTblEntry *merge_source_become_subquery(Query *merge);

#endif
