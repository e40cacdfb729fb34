/*
 * distribution.c: where the rows of a query are: the answer.
 *
 * The levels of the query give it (level.c); here it is put into the words that the
 * floors above use.
 */
#include "pando/compat/compat.h"

#include "pando/planner/query/exists.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/where/hazard.h"
#include "pando/planner/where/level.h"

static Expr *
best_value(List *bound)
{
	ListCell *cell;

	foreach (cell, bound)
	{
		if (IsA(lfirst(cell), Const))
			return lfirst(cell);
	}
	return linitial(bound);
}

Distribution
distribution_of_query(Query *query)
{
	Distribution distribution = {0};
	Output *result;
	Place *place;

	hazard_in_paths = 0;
	distribution.facts = query_facts(query);
	if (distribution.facts.join_columns)
		query = query_without_join_columns(query);
	result = level_analyse(query, NULL);
	place = result->place;
	distribution.anchor = place->anchor;
	distribution.colocation = place->colocation;
	distribution.reason = place->reason;
	switch (place->kind)
	{
		case PLACE_ANYWHERE:
			distribution.kind = DIST_ANYWHERE;
			break;
		case PLACE_COORDINATOR:
			distribution.kind = DIST_COORDINATOR;
			break;
		case PLACE_SHARDS:
			distribution.kind = place_is_single(place) ? DIST_SINGLE : DIST_SHARDED;
			distribution.key_columns = result->strict;
			if (place->bound != NIL)
			{
				distribution.pruned = true;
				distribution.keys = list_make1(best_value(place->bound));
			}
			else if (place->pruned)
			{
				distribution.pruned = true;
				distribution.keys = place->values;
			}
			break;
	}
	if (distribution.kind == DIST_SHARDED && query->commandType == CMD_SELECT &&
		query->sortClause != NIL)
	{
		distribution.kind = DIST_COORDINATOR;
		distribution.reason = "ORDER BY over rows of several shards";
	}
	if (distribution_has_shards(&distribution) && query->commandType == CMD_SELECT &&
		has_record_columns(query->targetList, false))
	{
		distribution.kind = DIST_COORDINATOR;
		distribution.reason = "a column of type record";
	}
	if (distribution.kind != DIST_COORDINATOR && distribution.facts.outer_columns)
	{
		distribution.kind = DIST_COORDINATOR;
		distribution.reason = "columns of an outer query";
	}
	return distribution;
}

Distribution
distribution_of_set(Query *query)
{
	query = copyObject(query);
	level_clear(query, LEVEL_ORDER);
	level_exists_as_items(query);
	return distribution_of_query(query);
}

bool
distribution_has_shards(const Distribution *distribution)
{
	return distribution->kind == DIST_SHARDED || distribution->kind == DIST_SINGLE;
}
