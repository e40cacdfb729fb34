/*
 * partition_choice.h: values that choose among many partitions.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_PARTITION_CHOICE_H
#define PANDO_PLANNER_PARTITION_CHOICE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* Does it depend on parameters which of many partitions of a table the query needs? */
extern bool query_partitions_by_params(Query *query);

#endif
