/*
 * several_sources.h: UPDATE ... FROM of a table with copies, where several rows of FROM
 * match one row of the target.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SEVERAL_SOURCES_H
#define PANDO_PLANNER_SEVERAL_SOURCES_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/metadata/table.h"

/* An UPDATE: may a row that has several copies match several rows of FROM? */
extern bool may_have_several_sources(Query *query, const DistTable *target);

/* With a condition that raises an error then; the same Query where that can't be. */
extern Query *query_that_refuses_several_sources(Query *query, const DistTable *target);

#endif
