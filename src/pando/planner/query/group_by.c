/*
 * group_by.c: columns that a primary key determines, and GROUP BY doesn't name.
 *
 * PostgreSQL takes them from any row of the group, as long as the table is there with its
 * key. Where it becomes a subquery they must be named.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_clause.h"
#include "parser/parse_oper.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"

#include "pando/planner/query/group_by.h"

typedef struct Ungrouped
{
	List *grouped; /* expressions of GROUP BY */
	List *vars;	   /* of the level itself */
	int depth;
} Ungrouped;

static bool
ungrouped_walker(Node *node, void *context)
{
	Ungrouped *search = context;

	if (node == NULL || (search->depth == 0 && list_member(search->grouped, node)))
		return false;
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == search->depth)
		return false;
	if (IsA(node, Var))
	{
		Var *var = copyObject((Var *) node);

		if ((int) var->varlevelsup != search->depth)
			return false;
		var->varlevelsup = 0;
		if (!list_member(search->grouped, var))
			search->vars = list_append_unique(search->vars, var);
		return false;
	}
	if (IsA(node, Query))
	{
		bool found;

		search->depth++;
		found = query_tree_walker((Query *) node, ungrouped_walker, context,
								  QTW_IGNORE_JOINALIASES);
		search->depth--;
		return found;
	}
	return expression_tree_walker(node, ungrouped_walker, context);
}

static void
add_to_group(Query *query, Var *var)
{
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *entry = tlist_member((Expr *) var, query->targetList);

	get_sort_group_operators(var->vartype, false, true, false, &clause->sortop,
							 &clause->eqop, NULL, &clause->hashable);
	if (entry == NULL)
	{
		entry = makeTargetEntry((Expr *) var, list_length(query->targetList) + 1,
								pstrdup("determined"), true);
		query->targetList = lappend(query->targetList, entry);
	}
	clause->tleSortGroupRef = assignSortGroupRef(entry, query->targetList);
	clause->nulls_first = false;
	query->groupClause = lappend(query->groupClause, clause);
}

void
level_group_by_determined(Query *query)
{
	Ungrouped search = {0};

	/* With grouping sets the key is in each of them: they would all have to be longer. */
	if (query->constraintDeps == NIL || query->groupClause == NIL ||
		query->groupingSets != NIL)
		return;
	search.grouped = get_sortgrouplist_exprs(query->groupClause, query->targetList);
	ungrouped_walker((Node *) query->targetList, &search);
	ungrouped_walker(query->havingQual, &search);
	foreach_ptr (Var, var, search.vars)
		add_to_group(query, var);
	query->constraintDeps = NIL;
}
