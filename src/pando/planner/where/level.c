/*
 * level.c: where the rows of a query are: the walk over its levels.
 *
 * Every query level is analysed bottom-up: its FROM items, the joins between them, the
 * sublinks of its expressions (level_from.c), then grouping, windows, DISTINCT and LIMIT
 * (level_select.c), set operations (level_setop.c), or a write (level_write.c). place.h
 * has the value that is carried, place_rules.c the rules for joins.
 * Outer levels are visible as a chain, for references to CTEs. Columns of outer queries
 * are like values: a part may be bound to them, and the outer level checks what they are.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "pando/planner/query/query_shape.h"
#include "pando/planner/where/level.h"
#include "pando/planner/where/object_names.h"

Output *
output_at(Place *place)
{
	Output *result = palloc0(sizeof(Output));

	result->place = place;
	return result;
}

Output *
output_coordinator(const char *reason)
{
	return output_at(place_coordinator(reason));
}

Place *
place_raised(Place *place)
{
	Place *result = place_closed(place);

	result->bound = copyObject(result->bound);
	IncrementVarSublevelsUp((Node *) result->bound, -1, 1);
	result->strict = result->not_null = result->weak = NIL;
	result->relids = NULL;
	return result;
}

/* Aggregates that don't depend on the order of rows (floating point aside). */
static bool
order_matters_walker(Node *node, void *context)
{
	if (node == NULL || IsA(node, Query))
		return false;
	if (IsA(node, Aggref))
	{
		static const char *const fine[] = {
			"count", "min",		"max",	  "sum",	 "avg",	   "bool_and", "bool_or",
			"every", "bit_and", "bit_or", "bit_xor", "stddev", "variance"};
		const char *name = get_func_name(((Aggref *) node)->aggfnoid);

		for (int i = 0; i < lengthof(fine); i++)
		{
			if (strcmp(name, fine[i]) == 0)
				return false;
		}
		return true;
	}
	return expression_tree_walker(node, order_matters_walker, context);
}

bool
level_varies(Query *query, Place *place)
{
	return place->varies || clause_limits(query->limitCount) ||
		   clause_limits(query->limitOffset) || query->hasWindowFuncs ||
		   query->hasDistinctOn || expression_varies((Node *) query->targetList) ||
		   expression_varies((Node *) query->jointree) ||
		   expression_varies(query->havingQual) ||
		   (query->hasAggs && (order_matters_walker((Node *) query->targetList, NULL) ||
							   order_matters_walker(query->havingQual, NULL)));
}

Output *
level_analyse(Query *query, Level *parent)
{
	Level level = {0};
	Output *result;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	level.query = query;
	level.parent = parent;
	if (query->utilityStmt != NULL)
		return output_coordinator("a utility statement");
	if (level_orders_names(query))
		return output_coordinator("an order of catalog names");
	if (query->commandType != CMD_SELECT)
		result = level_analyse_write(&level);
	else if (query->setOperations != NULL)
		result = level_analyse_setop(&level);
	else
		result = level_analyse_select(&level);
	if (query->hasModifyingCTE && result->place->kind != PLACE_COORDINATOR)
		result->place = level_attach_writes(&level, result->place);
	return result;
}
