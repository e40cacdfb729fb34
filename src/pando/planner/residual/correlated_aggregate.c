/*
 * correlated_aggregate.c: a correlated aggregate as a join.
 *
 *     x < (SELECT agg(...) FROM inner WHERE inner.a = outer.b ...)
 *
 * is a join with (SELECT inner.a, agg(...) ... GROUP BY inner.a), provided that it gives
 * NULL for no rows, which x < NULL refuses, or with LATERAL (SELECT agg(...) ... WHERE
 * inner.a = outer.b), where an index finds these.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_namespace.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "utils/lsyscache.h"

#include "pando/planner/query/from_item.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/residual/correlated_aggregate.h"
#include "pando/planner/residual/outer_values.h"
#include "pando/planner/residual/tie.h"

static bool
not_null_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		static const char *const fine[] = {"sum", "avg", "min", "max"};
		Aggref *aggregate = (Aggref *) node;
		char *name = get_func_name(aggregate->aggfnoid);

		if (aggregate->agglevelsup > 0 ||
			get_func_namespace(aggregate->aggfnoid) != PG_CATALOG_NAMESPACE)
			return true;
		for (int i = 0; i < lengthof(fine); i++)
		{
			if (strcmp(name, fine[i]) == 0)
			{
				*(bool *) context = true;
				return false;
			}
		}
		return true;
	}
	return expression_tree_walker(node, not_null_walker, context);
}

/* Columns in place of aggregates, of which the core thinks that they are not strict. */
static Node *
column_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
		return (Node *) makeVar(1, 1, exprType(node), -1, exprCollation(node), 0);
	return expression_tree_mutator(node, column_mutator, context);
}

/* Is the value NULL when there are no rows? */
static bool
is_null_of_nothing(Node *value)
{
	bool found = false;

	return !not_null_walker(value, &found) && found &&
		   !contain_nonstrict_functions(column_mutator(value, NULL)) &&
		   !contain_volatile_functions(value) && !contain_subplans(value);
}

static bool
add_group(Query *query, Node *expr)
{
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *entry;
	char name[32];
	bool hashable;

	get_sort_group_operators(exprType(expr), false, false, false, &clause->sortop,
							 &clause->eqop, NULL, &hashable);
	if (!OidIsValid(clause->eqop) || !OidIsValid(clause->sortop))
		return false;
	clause->hashable = hashable;
	snprintf(name, sizeof(name), "key%d", list_length(query->targetList));
	entry = makeTargetEntry(copyObject((Expr *) expr), list_length(query->targetList) + 1,
							pstrdup(name), false);
	entry->ressortgroupref = clause->tleSortGroupRef = entry->resno;
	query->targetList = lappend(query->targetList, entry);
	query->groupClause = lappend(query->groupClause, clause);
	return true;
}

typedef struct Replace
{
	Node *old;
	Node *new;
} Replace;

static Node *
replace_mutator(Node *node, void *context)
{
	Replace *replace = context;

	if (node == NULL)
		return NULL;
	if (node == replace->old)
		return replace->new;
	return expression_tree_mutator(node, replace_mutator, context);
}

List *
join_aggregate(Query *level, Node *qual, SubLink *sublink, Joined joined)
{
	Query *query = copyObject((Query *) sublink->subselect);
	Replace replace = {.old = (Node *) sublink};
	List *ties;
	List *result;
	Index varno;
	Tie *lookup = NULL;
	int resno = 1;

	if (!query->hasAggs || !is_tied_by_where(query) ||
		list_length(query->targetList) != 1)
		return NIL;
	ties = ties_take(query);
	if (ties == NIL ||
		!is_null_of_nothing((Node *) ((TargetEntry *) linitial(query->targetList))->expr))
		return NIL;
	((TargetEntry *) linitial(query->targetList))->resname = pstrdup("value");
	((TargetEntry *) linitial(query->targetList))->ressortgroupref = 0;
	level_clear(query, LEVEL_ORDER);
	varno = list_length(level->rtable) + 1;
	replace.new = (Node *) query_column(varno, query, 1);
	result = list_make1(replace_mutator(qual, &replace));
	if (contain_nonstrict_functions(linitial(result)))
		return NIL;
	if (joined == JOINED_LOOKUP)
	{
		lookup = tie_of_lookup(query, ties);
		if (lookup == NULL)
			return NIL;
		query->jointree->quals =
			make_and_qual(query->jointree->quals, (Node *) lookup->equality);
	}
	foreach_ptr (Tie, tie, ties)
	{
		if (tie == lookup)
			continue;
		if (!add_group(query, tie->inner))
			return NIL;
		result =
			lappend(result, tie_with(tie, (Node *) query_column(varno, query, ++resno),
									 tie->outer));
	}
	if (joined == JOINED_VALUES)
		restrict_to_values(query, level, ties, qual);
	level_add_query(level, "grouped", query)->lateral = lookup != NULL;
	return result;
}
