/*
 * flatten.c: a query in the form that the planner's analysis reads.
 *
 * The core's flatten_join_alias_vars() works on the expressions of one level; here it is
 * applied to every level of a copy, outermost first: a subquery's references to joins of
 * outer levels are replaced from there.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "pando/planner/flatten.h"
#include "parser/parsetree.h"

static bool
has_join_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->rtekind == RTE_JOIN;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_join_walker, context,
								 QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, has_join_walker, context);
}

#define FLATTEN(field) (field) = (void *) flatten_join_alias_vars(query, (Node *) (field))

static void
flatten_range_table(Query *query)
{
	ListCell *cell;

	foreach (cell, query->rtable)
	{
		RangeTblEntry *rte = lfirst(cell);

		FLATTEN(rte->functions);
		FLATTEN(rte->values_lists);
		FLATTEN(rte->tablefunc);
		FLATTEN(rte->tablesample);
		FLATTEN(rte->securityQuals);
		if (rte->rtekind == RTE_SUBQUERY)
			FLATTEN(rte->subquery);
	}
}

static void
flatten_level(Query *query)
{
	FLATTEN(query->targetList);
	FLATTEN(query->returningList);
	FLATTEN(query->jointree);
	FLATTEN(query->onConflict);
	FLATTEN(query->mergeActionList);
	FLATTEN(query->havingQual);
	FLATTEN(query->limitOffset);
	FLATTEN(query->limitCount);
	FLATTEN(query->withCheckOptions);
	FLATTEN(query->windowClause);
	FLATTEN(query->cteList);
	flatten_range_table(query);
}

static bool
flatten_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query *query = (Query *) node;
		ListCell *cell;

		foreach (cell, query->rtable)
		{
			if (((RangeTblEntry *) lfirst(cell))->rtekind == RTE_JOIN)
			{
				flatten_level(query);
				break;
			}
		}
		return query_tree_walker(query, flatten_walker, context, QTW_IGNORE_JOINALIASES);
	}
	return expression_tree_walker(node, flatten_walker, context);
}

Query *
query_without_join_columns(Query *query)
{
	if (!has_join_walker((Node *) query, NULL))
		return query;
	query = copyObject(query);
	flatten_walker((Node *) query, NULL);
	return query;
}
