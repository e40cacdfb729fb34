/*
 * inline_functions.c: set-returning SQL functions in FROM, as the queries that they are.
 *
 * PostgreSQL inlines them while it plans, too late for us: what they read would be the
 * empty shell tables. So a query that calls such functions has them inlined first, by
 * PostgreSQL's own inline_set_returning_function().
 */
#include "pando/compat/compat.h"

#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "pando/planner/query/each_level.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/inline_functions.h"

/* In text a subquery's columns have its own names, a function's are said after it. */
static void
name_columns(Query *body, const RangeTblEntry *rte)
{
	foreach_ptr (TargetEntry, entry, body->targetList)
	{
		if (!entry->resjunk && entry->resno <= list_length(rte->eref->colnames))
			entry->resname =
				pstrdup(strVal(list_nth(rte->eref->colnames, entry->resno - 1)));
	}
}

typedef struct Inlining
{
	PlannerInfo *root;
	bool gaps; /* items have got columns that joins above them don't list */
} Inlining;

static bool
inline_in_level(Query *level, void *context)
{
	Inlining *inlining = context;
	PlannerInfo *root = inlining->root;

	root->parse = level;
	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		Query *body;

		if (rte->rtekind != RTE_FUNCTION)
			continue;
		/* As preprocess_function_rtes() does it. */
		rte->functions = (List *) eval_const_expressions(root, (Node *) rte->functions);
		body = inline_set_returning_function(root, rte);
		if (body == NULL)
			continue;
		inlining->gaps |= rte_name_all_columns(rte);
		name_columns(body, rte);
		rte->rtekind = RTE_SUBQUERY;
		rte->subquery = body;
		rte->security_barrier = false;
		rte->funcordinality = false;
	}
	return false;
}

static bool
refresh_level(Query *level, void *context)
{
	level_join_columns_refresh(level);
	return false;
}

Query *
query_with_inlined_functions(Query *query, PlannerGlobal *glob)
{
	Inlining inlining = {.root = makeNode(PlannerInfo)};
	Query *copy = copyObject(query);

	inlining.root->glob = glob;
	inlining.root->parse = copy;
	inlining.root->query_level = 1;
	(void) query_each_level(copy, inline_in_level, &inlining);
	if (inlining.gaps)
	{
		copy = query_without_join_columns(copy);
		(void) query_each_level(copy, refresh_level, NULL);
	}
	return copy;
}
