/*
 * each_level.c: the levels of a query tree, one by one.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"

#include "pando/planner/query/each_level.h"

typedef struct Walk
{
	LevelVisit visit;
	void *context;
	bool inner_first;
} Walk;

static bool walk_levels(Query *query, Walk *walk);

static bool
sublink_walker(Node *node, void *walk)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return walk_levels((Query *) node, walk);
	return expression_tree_walker(node, sublink_walker, walk);
}

static bool
walk_inside(Query *query, Walk *walk)
{
	Assert(query->hasSubLinks || !checkExprHasSubLink((Node *) query));
	if (query->hasSubLinks &&
		query_tree_walker(query, sublink_walker, walk,
						  QTW_IGNORE_RC_SUBQUERIES | QTW_IGNORE_JOINALIASES))
		return true;
	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		if (walk_levels((Query *) cte->ctequery, walk))
			return true;
	}
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (rte->rtekind == RTE_SUBQUERY && walk_levels(rte->subquery, walk))
			return true;
	}
	return false;
}

static bool
walk_levels(Query *query, Walk *walk)
{
	check_stack_depth();
	if (walk->inner_first)
		return walk_inside(query, walk) || walk->visit(query, walk->context);
	return walk->visit(query, walk->context) || walk_inside(query, walk);
}

bool
query_each_level(Query *query, LevelVisit visit, void *context)
{
	Walk walk = {.visit = visit, .context = context};

	return walk_levels(query, &walk);
}

bool
query_each_level_inner_first(Query *query, LevelVisit visit, void *context)
{
	Walk walk = {.visit = visit, .context = context, .inner_first = true};

	return walk_levels(query, &walk);
}
