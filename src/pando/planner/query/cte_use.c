/*
 * cte_use.c: who refers to the WITH queries of a level; those that nobody does go.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "pando/planner/query/cte_use.h"
#include "pando/planner/query/each_level.h"

typedef struct Search
{
	const char *name;
	CteUse use;
	void *context;
	int depth;
	int count;
} Search;

/* What `use` puts in the place of a reference is not looked at: hence the order. */
#define ORDER (QTW_EXAMINE_RTES_AFTER | QTW_IGNORE_JOINALIASES)

static bool
search_walker(Node *node, Search *search)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		if (rte->rtekind != RTE_CTE || (int) rte->ctelevelsup != search->depth ||
			(search->name != NULL && strcmp(rte->ctename, search->name) != 0))
			return false;
		search->count++;
		if (search->use != NULL)
			search->use(rte, search->depth, search->context);
		return false;
	}
	if (IsA(node, Query))
	{
		search->depth++;
		query_tree_walker((Query *) node, search_walker, search, ORDER);
		search->depth--;
		return false;
	}
	return expression_tree_walker(node, search_walker, search);
}

int
cte_each_use(Query *query, const char *name, CteUse use, void *context)
{
	Search search = {.name = name, .use = use, .context = context};

	query_tree_walker(query, search_walker, &search, ORDER);
	return search.count;
}

int
cte_each_use_in(Node *part, const char *name, CteUse use, void *context)
{
	Search search = {.name = name, .use = use, .context = context};

	search_walker(part, &search);
	return search.count;
}

void
level_drop_unused_ctes(Query *query)
{
	int before;

	do
	{
		List *kept = NIL;
		ListCell *cell;

		before = list_length(query->cteList);
		foreach (cell, query->cteList)
		{
			CommonTableExpr *cte = lfirst(cell);
			int own = 0;

			cte->cterefcount = cte_each_use(query, cte->ctename, NULL, NULL);
			if (cte->cterecursive)
				own = cte_each_use_in(cte->ctequery, cte->ctename, NULL, NULL);
			if (cte->cterefcount > own ||
				((Query *) cte->ctequery)->commandType != CMD_SELECT)
				kept = lappend(kept, cte);
		}
		query->cteList = kept;
	} while (list_length(query->cteList) < before);
}

static bool
drop_unused_ctes(Query *level, void *context)
{
	level_drop_unused_ctes(level);
	return false;
}

void
query_drop_unused_ctes(Query *query)
{
	/* What is dropped inside may have been the last use of another. */
	(void) query_each_level_inner_first(query, drop_unused_ctes, NULL);
}
