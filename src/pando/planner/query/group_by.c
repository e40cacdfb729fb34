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

/* A clause for the Var, not yet in a target list; NULL if its type has no equality. */
static SortGroupClause *
clause_for(Var *var)
{
	SortGroupClause *clause = makeNode(SortGroupClause);

	get_sort_group_operators(var->vartype, false, false, false, &clause->sortop,
							 &clause->eqop, NULL, &clause->hashable);
	return OidIsValid(clause->eqop) ? clause : NULL;
}

static void
add_to_group(Query *query, Var *var, SortGroupClause *clause)
{
	TargetEntry *entry = tlist_member((Expr *) var, query->targetList);

	if (entry == NULL)
	{
		entry = makeTargetEntry((Expr *) var, list_length(query->targetList) + 1,
								pstrdup("determined"), true);
		query->targetList = lappend(query->targetList, entry);
	}
	clause->tleSortGroupRef = assignSortGroupRef(entry, query->targetList);
	query->groupClause = lappend(query->groupClause, clause);
}

bool
level_group_by_determined(Query *query)
{
	Ungrouped search = {0};
	List *clauses = NIL;
	ListCell *clause, *var;

	if (query->constraintDeps == NIL || query->groupClause == NIL)
		return true;
	/* The key is in each of the grouping sets: they would all have to be longer. */
	if (query->groupingSets != NIL)
		return false;
	search.grouped = get_sortgrouplist_exprs(query->groupClause, query->targetList);
	ungrouped_walker((Node *) query->targetList, &search);
	ungrouped_walker(query->havingQual, &search);
	foreach (var, search.vars)
		clauses = lappend(clauses, clause_for(lfirst(var)));
	if (list_member_ptr(clauses, NULL))
		return false;
	forboth(var, search.vars, clause, clauses)
		add_to_group(query, lfirst(var), lfirst(clause));
	query->constraintDeps = NIL;
	return true;
}
