/*
 * cte_once.c: WITH queries that are computed once.
 *
 * In PostgreSQL all references to a WITH query see the same rows. Fragments that compute
 * it each for itself do, too, if it comes out the same each time. It may not if it has
 * volatile functions, takes some of its rows (LIMIT, DISTINCT ON, TABLESAMPLE), or
 * numbers or adds up its rows in the order in which they come.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"

#include "pando/planner/query/query_shape.h"
#include "pando/planner/query/aggregate.h"
#include "pando/planner/where/cte_once.h"
#include "pando/planner/query/cte_use.h"

/* One more than PostgreSQL has, all of which it materialises but for its own two. */
#define CTE_MATERIALIZE_HERE ((CTEMaterialize) (CTEMaterializeNever + 1))

/* Is the result the same in whatever order the rows come? Sums of floats are not. */
static bool
is_exact(const Aggref *aggref)
{
	switch (aggregate_split(aggref))
	{
		case SPLIT_COUNT:
		case SPLIT_AVERAGE:
		case SPLIT_SAME:
		case SPLIT_DISTINCT: /* the rows are sorted */
			return true;
		case SPLIT_SUM:
			return aggref->aggtype != FLOAT4OID && aggref->aggtype != FLOAT8OID;
		default:
			return false;
	}
}

static bool
differs_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, TableSampleClause) || (IsA(node, Aggref) && !is_exact((Aggref *) node)))
		return true;
	if (IsA(node, Query))
	{
		Query *query = (Query *) node;

		return query->limitCount != NULL || query->limitOffset != NULL ||
			   query->hasDistinctOn || query->hasWindowFuncs || query->rowMarks != NIL ||
			   query_tree_walker(query, differs_walker, context, 0);
	}
	return expression_tree_walker(node, differs_walker, context);
}

void
level_keep_ctes(Query *query)
{
	List *differing = NIL; /* names; WITH queries refer to those before them */

	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		bool differs;
		int uses;

		if (((Query *) cte->ctequery)->commandType != CMD_SELECT)
			continue;
		differs = query_varies(cte->ctequery) || differs_walker(cte->ctequery, NULL);
		foreach_ptr (char, name, differing)
			differs |= cte_each_use_in(cte->ctequery, name, NULL, NULL) > 0;
		if (!differs)
			continue;
		differing = lappend(differing, cte->ctename);
		uses = cte_each_use(query, cte->ctename, NULL, NULL);
		if (cte->cterecursive)
			uses -= cte_each_use_in(cte->ctequery, cte->ctename, NULL, NULL);
		if (uses > 1)
			cte->ctematerialized = CTE_MATERIALIZE_HERE;
	}
}

bool
cte_is_kept(const CommonTableExpr *cte)
{
	return cte->ctematerialized == CTE_MATERIALIZE_HERE;
}

void
cte_release(CommonTableExpr *cte)
{
	if (cte_is_kept(cte))
		cte->ctematerialized = CTEMaterializeDefault;
}

bool
level_has_kept_ctes(const Query *query)
{
	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		if (cte_is_kept(cte))
			return true;
	}
	return false;
}
