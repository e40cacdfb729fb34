/*
 * flatten.c: a query in the form that the planner's analysis reads.
 *
 * The core's flatten_join_alias_vars() works on the expressions of one level; here it is
 * applied to every level of a copy, outermost first: a subquery's references to joins of
 * outer levels are replaced from there.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "pando/planner/flatten.h"
#include "parser/parse_relation.h"
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

/* The columns of a FROM item, as Vars; joins get their lists. */
static void
list_columns(Query *query, Node *item, List **names, List **vars)
{
	JoinExpr *join = (JoinExpr *) item;
	RangeTblEntry *rte;
	List *right_names = NIL;
	List *right_vars = NIL;
	AttrNumber number = 0;

	*names = *vars = NIL;
	if (IsA(item, RangeTblRef))
	{
		int varno = ((RangeTblRef *) item)->rtindex;

		expandRTE(rt_fetch(varno, query->rtable), varno, 0, -1, false, names, vars);
		return;
	}
	rte = rt_fetch(join->rtindex, query->rtable);
	rte->joinleftcols = rte->joinrightcols = NIL;
	list_columns(query, join->larg, names, vars);
	list_columns(query, join->rarg, &right_names, &right_vars);
	number = 0;
	foreach_ptr (Var, var, *vars)
		rte->joinleftcols = lappend_int(
			rte->joinleftcols, IsA(join->larg, JoinExpr) ? ++number : var->varattno);
	number = 0;
	foreach_ptr (Var, var, right_vars)
		rte->joinrightcols = lappend_int(
			rte->joinrightcols, IsA(join->rarg, JoinExpr) ? ++number : var->varattno);
	*names = list_concat(*names, right_names);
	*vars = list_concat(*vars, right_vars);
	join->usingClause = NIL;
	join->join_using_alias = NULL;
	join->alias = NULL;
	rte->joinmergedcols = 0;
	rte->joinaliasvars = list_copy(*vars);
	rte->join_using_alias = NULL;
	rte->alias = NULL;
	rte->eref = makeAlias(rte->eref->aliasname, list_copy(*names));
}

void
level_join_columns_refresh(Query *query)
{
	List *names;
	List *vars;

	foreach_ptr (Node, item, query->jointree->fromlist)
		list_columns(query, item, &names, &vars);
}
