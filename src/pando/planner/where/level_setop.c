/*
 * level_setop.c: where the rows of UNION, INTERSECT and EXCEPT are.
 *
 * Branches must be in the same shard groups. Rows of UNION ALL may stay where they are;
 * the others compare rows, which are all in one shard group if a key is among the
 * columns.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "pando/planner/query/equality.h"
#include "pando/planner/where/level.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/where/place.h"

/* Key columns that all branches have; they must be compared alike, too. */
static void
intersect_keys(Output *result, Output *left, Output *right, SetOperationStmt *setop)
{
	int column = 0;
	ListCell *type;
	ListCell *collation;

	result->strict = bms_intersect(left->strict, right->strict);
	result->not_null = bms_intersect(left->not_null, right->not_null);
	result->weak = bms_intersect(bms_union(left->strict, left->weak),
								 bms_union(right->strict, right->weak));
	result->weak = bms_difference(result->weak, result->strict);
	forboth(type, setop->colTypes, collation, setop->colCollations)
	{
		Oid id = lfirst_oid(collation);

		column++;
		if (hash_family_of_type(lfirst_oid(type)) == left->place->key_family &&
			(!OidIsValid(id) || get_collation_isdeterministic(id)))
			continue;
		result->strict = bms_del_member(result->strict, column);
		result->not_null = bms_del_member(result->not_null, column);
		result->weak = bms_del_member(result->weak, column);
	}
}

static List *
values_of_branch(Place *place)
{
	ListCell *cell;

	if (place->pruned)
		return place->values;
	foreach (cell, place->bound)
	{
		if (!IsA(lfirst(cell), Var))
			return list_make1(lfirst(cell));
	}
	return NIL;
}

static Output *
combine_branches(Output *left, Output *right, SetOperationStmt *setop)
{
	Place *a = left->place;
	Place *b = right->place;
	bool append = setop->op == SETOP_UNION && setop->all;
	Output *result;
	Place *place;

	if (a->kind == PLACE_COORDINATOR)
		return left;
	if (b->kind == PLACE_COORDINATOR)
		return right;
	if (a->kind == PLACE_ANYWHERE && b->kind == PLACE_ANYWHERE)
	{
		result = output_at(place_closed(OidIsValid(a->anchor) ? a : b));
		result->place->varies = a->varies || b->varies;
		return result;
	}
	if (a->kind == PLACE_ANYWHERE || b->kind == PLACE_ANYWHERE)
	{
		place = place_closed(a->kind == PLACE_SHARDS ? a : b);
		place->splits = false;
		if (!place_is_single(place))
			return output_coordinator("a set operation of a distributed table and one "
									  "that is on every node");
		return output_at(place);
	}
	if (a->colocation != b->colocation)
		return output_coordinator("a set operation of tables that are not colocated");

	place = place_closed(a);
	result = output_at(place);
	intersect_keys(result, left, right, setop);
	place->one_group = a->one_group && b->one_group;
	place->bound = list_intersection(a->bound, b->bound);
	place->splits = a->splits && b->splits && (append || !bms_is_empty(result->strict));
	place->pruned = false;
	if (values_of_branch(a) != NIL && values_of_branch(b) != NIL)
	{
		place->pruned = true;
		place->values = list_union(values_of_branch(a), values_of_branch(b));
	}
	if (!place->splits && !place_is_single(place))
		return output_coordinator(
			"a set operation whose branches lack the distribution column");
	return result;
}

static Output *
analyse_branch(Level *level, Node *node)
{
	SetOperationStmt *setop;

	if (IsA(node, RangeTblRef))
	{
		RangeTblEntry *rte =
			rt_fetch(((RangeTblRef *) node)->rtindex, level->query->rtable);
		Output *result = level_analyse(rte->subquery, level);

		/* Branches see the parent's outer columns from one level further down. */
		result->place = place_raised(result->place);
		return result;
	}
	setop = castNode(SetOperationStmt, node);
	return combine_branches(analyse_branch(level, setop->larg),
							analyse_branch(level, setop->rarg), setop);
}

Output *
level_analyse_setop(Level *level)
{
	Query *query = level->query;
	Output *result = analyse_branch(level, query->setOperations);
	Place *place = level_attach_expressions(level, place_closed(result->place));

	result->place = place;
	if (place->kind == PLACE_COORDINATOR)
		return result;
	if (query->rowMarks != NIL)
		return output_coordinator("row locks on a set operation");
	if (clause_limits(query->limitCount) || clause_limits(query->limitOffset))
	{
		if (place->kind == PLACE_ANYWHERE)
			place->varies = true;
		else if (!place_is_single(place))
			return output_coordinator("LIMIT over rows of several shards");
		place->splits = false;
	}
	return result;
}
