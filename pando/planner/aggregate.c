/*
 * aggregate.c: aggregates split between shards and coordinator.
 */
#include "pando/compat/compat.h"
#include "pando/planner/cut.h"

bool
level_split_aggregates(Query *query)
{
	return false;
}
