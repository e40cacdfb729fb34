/*
 * sample.h: TABLESAMPLE with arguments that shards don't know.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SAMPLE_H
#define PANDO_PLANNER_SAMPLE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* Are columns, subqueries or volatile functions among the arguments of its sample? */
extern bool sample_is_for_here(const RangeTblEntry *rte);

/*
 * A copy of the query in which such samples of distributed tables are subqueries that
 * pick rows by chance.
 */
extern Query *query_without_samples_of_rows(Query *query);

#endif
