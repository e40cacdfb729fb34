/*
 * sample.h: TABLESAMPLE with arguments that shards don't know.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SAMPLE_H
#define PANDO_PLANNER_SAMPLE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * The sample with a Param in place of each argument that is for here: PARAM_EXEC, whose
 * number is the argument's position in *arguments, to which they are added.
 */
extern TableSampleClause *sample_of_arguments(const TableSampleClause *sample,
											  List **arguments);

/*
 * A copy of the query in which such samples of distributed tables are subqueries that
 * pick rows by chance.
 */
extern Query *query_without_samples_of_rows(Query *query);

#endif
