/*
 * level_select.c: what grouping, windows, DISTINCT and LIMIT of a SELECT do to the place
 * of its rows.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_agg.h"

#include "pando/planner/query/equality.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/where/level.h"
#include "pando/planner/where/lock_query.h"

static bool
clause_has_key(List *clause, List *targetlist, const Place *place)
{
	ListCell *cell;

	foreach (cell, clause)
	{
		if (place_groups_by(place, get_sortgroupclause_expr(lfirst(cell), targetlist)))
			return true;
	}
	return false;
}

/* With grouping sets, every set must have the key. */
static bool
grouping_has_key(Query *query, const Place *place)
{
	ListCell *cell;

	if (query->groupingSets == NIL)
		return clause_has_key(query->groupClause, query->targetList, place);
	foreach (cell, expand_grouping_sets(query->groupingSets, query->groupDistinct, -1))
	{
		bool found = false;
		ListCell *ref;

		foreach (ref, (List *) lfirst(cell))
		{
			if (place_groups_by(place, (Node *) get_sortgroupref_tle(lfirst_int(ref),
																	 query->targetList)
										   ->expr))
				found = true;
		}
		if (!found)
			return false;
	}
	return true;
}

static bool
windows_have_key(Query *query, const Place *place)
{
	ListCell *cell;

	foreach (cell, query->windowClause)
	{
		if (!clause_has_key(((WindowClause *) lfirst(cell))->partitionClause,
							query->targetList, place))
			return false;
	}
	return true;
}

/* What the level does with rows of several shard groups, NULL when it needs none
 * together. */
static const char *
gathering_clause(Query *query, const Place *place)
{
	if ((query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
		 query->havingQual != NULL) &&
		!grouping_has_key(query, place))
		return "grouping without the distribution column";
	if (query->hasWindowFuncs && !windows_have_key(query, place))
		return "a window function whose PARTITION BY lacks the distribution column";
	if (query->distinctClause != NIL &&
		!clause_has_key(query->distinctClause, query->targetList, place))
		return "DISTINCT without the distribution column";
	if (clause_limits(query->limitCount) || clause_limits(query->limitOffset))
		return "LIMIT over rows of several shards";
	return NULL;
}

/* Which output columns tell the shard group. */
static void
name_keys(Output *result, Place *place, List *targetlist)
{
	ListCell *cell;

	if (place->kind != PLACE_SHARDS || !OidIsValid(place->key_type))
		return;
	foreach (cell, targetlist)
	{
		TargetEntry *entry = lfirst(cell);
		Node *expr = (Node *) entry->expr;

		if (entry->resjunk || hash_family_of_type(exprType(expr)) != place->key_family)
			continue;
		if (place_has_key(place, expr, false))
			result->strict = bms_add_member(result->strict, entry->resno);
		else if (place_has_key(place, expr, true))
			result->weak = bms_add_member(result->weak, entry->resno);
		if (place_key_not_null(place, expr))
			result->not_null = bms_add_member(result->not_null, entry->resno);
	}
}

/* An assignment to a part of a column that has become an expression: no text says it. */
static bool
assigns_part_walker(Node *node, void *context)
{
	if (node == NULL || IsA(node, Query))
		return false;
	return IsA(node, FieldStore) ||
		   (IsA(node, SubscriptingRef) &&
			((SubscriptingRef *) node)->refassgnexpr != NULL) ||
		   expression_tree_walker(node, assigns_part_walker, context);
}

/* Is there a row also when none comes from below? */
static bool
makes_row_of_nothing(Query *query)
{
	if (query->groupingSets == NIL)
		return (query->hasAggs || query->havingQual != NULL) && query->groupClause == NIL;
	foreach_ptr (List, set,
				 expand_grouping_sets(query->groupingSets, query->groupDistinct, -1))
	{
		if (set == NIL)
			return true;
	}
	return false;
}

Output *
level_analyse_select(Level *level)
{
	Query *query = level->query;
	Place *place = level_place(level);
	Output *result;
	const char *gathering;

	if (makes_row_of_nothing(query))
		place_settle(place);
	place = level_attach_expressions(level, place);
	if (assigns_part_walker((Node *) query->targetList, NULL))
		place = place_coordinator("an assignment to a part of a column");
	result = output_at(place);
	if (place->kind == PLACE_ANYWHERE)
	{
		if (query->rowMarks != NIL)
			return output_coordinator("row locks on reference tables");
		place->varies = level_varies(query, place);
		return result;
	}
	if (place->kind == PLACE_COORDINATOR)
		return result;
	if (level_locks_reference(query))
		return output_coordinator("row locks on reference tables");
	name_keys(result, place, query->targetList);
	if (query->groupingSets != NIL && !grouping_has_key(query, place))
	{
		/* Rows of the sets that lack the key have NULL there. */
		result->weak = bms_add_members(result->weak, result->strict);
		result->strict = result->not_null = NULL;
	}
	gathering = gathering_clause(query, place);
	if (gathering != NULL)
	{
		if (!place_is_single(place))
			return output_coordinator(gathering);
		place->splits = false;
	}
	return result;
}
