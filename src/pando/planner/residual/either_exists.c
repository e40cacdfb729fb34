/*
 * either_exists.c: EXISTS below OR, as a test of values.
 *
 * At the top of WHERE PostgreSQL makes a join of EXISTS. Below OR it looks each row's
 * values up, or has them all in a hash table; which of the two it decides when the plan
 * is made, by the rows of the node that tests them, as if a join's inner side ran once,
 * and a UNION ALL of shards has a hash table for each. Lookups in many shards cost a
 * multiple of those in one table, so that the choice must be one of whole plans: here is
 * the query of the other one. Where nothing else stands below OR, and all EXISTS are tied
 * to the same values, it is a join with all of their rows.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"

#include "pando/planner/query/distinct.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/union.h"
#include "pando/planner/residual/decorrelate.h"
#include "pando/planner/residual/either_exists.h"

typedef struct EitherExists
{
	Query *level;
	List *tests; /* IN, in the place of EXISTS */
	bool all;	 /* UNION ALL, whatever comes twice */
	bool changed;
} EitherExists;

/* value IN (SELECT ...) for EXISTS, (value IN (SELECT ...)) IS NOT TRUE for NOT EXISTS;
 * NULL: it isn't one, or is tied to its row in another way. */
static Node *
exists_by_values(EitherExists *either, Node *arm)
{
	bool negated = is_notclause(arm);
	SubLink *sublink = (SubLink *) (negated ? (Node *) get_notclausearg(arm) : arm);
	BooleanTest *test;
	Node *any;

	if (!IsA(sublink, SubLink) || sublink->subLinkType != EXISTS_SUBLINK ||
		contain_volatile_functions(sublink->subselect))
		return NULL;
	any = sublink_exists_as_any(either->level, sublink);
	either->changed |= any != NULL;
	if (any == NULL)
		return NULL;
	if (!negated)
	{
		either->tests = lappend(either->tests, any);
		return any;
	}
	test = makeNode(BooleanTest);
	test->arg = (Expr *) any;
	test->booltesttype = IS_NOT_TRUE;
	test->location = -1;
	return (Node *) test;
}

/* The arms of OR, those that test the same values as one: IN (SELECT ... UNION SELECT
 * ...). */
static List *
arms_united(EitherExists *either, List *arms)
{
	List *result = NIL;
	List *rest = arms;

	while (rest != NIL)
	{
		Node *arm = linitial(rest);
		List *others = NIL;
		List *queries = NIL;

		foreach_ptr (Node, other, rest)
		{
			if (list_member_ptr(either->tests, arm) &&
				list_member_ptr(either->tests, other) &&
				equal(((SubLink *) arm)->testexpr, ((SubLink *) other)->testexpr))
				queries = lappend(queries, ((SubLink *) other)->subselect);
			else if (other != arm)
				others = lappend(others, other);
		}
		if (list_length(queries) > 1)
		{
			foreach_ptr (Node, query, queries)
				IncrementVarSublevelsUp(query, 1, 1);
			((SubLink *) arm)->subselect = (Node *) query_union(
				queries, either->all || !query_is_deterministic(linitial(queries)));
		}
		result = lappend(result, arm);
		rest = others;
	}
	return result;
}

/* What OR and AND connect: NULL in the place of false is as good. */
static Node *
arm_by_values(EitherExists *either, Node *arm)
{
	Node *instead;

	if (is_orclause(arm) || is_andclause(arm))
	{
		BoolExpr *result = copyObject((BoolExpr *) arm);
		ListCell *cell;

		foreach (cell, result->args)
			lfirst(cell) = arm_by_values(either, lfirst(cell));
		if (is_orclause(arm))
			result->args = arms_united(either, result->args);
		return list_length(result->args) == 1 ? linitial(result->args) : (Node *) result;
	}
	instead = exists_by_values(either, arm);
	return instead != NULL ? instead : arm;
}

Node *
either_exists_as_any(Query *level, Node *qual)
{
	EitherExists either = {.level = level};
	Node *any = arm_by_values(&either, copyObject(qual));

	return IsA(any, SubLink) ? any : NULL;
}

static bool
either_exists_walker(Node *node, void *context)
{
	EitherExists either = {.level = (Query *) node, .all = true};
	List *quals = NIL;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, either_exists_walker, context);
	query_tree_walker(either.level, either_exists_walker, context, 0);
	if (!either.level->hasSubLinks || !level_may_decorrelate(either.level))
		return false;
	foreach_ptr (Node, qual, quals_flat(either.level->jointree->quals))
		quals = lappend(quals, is_orclause(qual) ? arm_by_values(&either, qual) : qual);
	if (either.changed)
		either.level->jointree->quals = quals_as_node(quals);
	*(bool *) context |= either.changed;
	return false;
}

bool
query_exists_by_values(Query *query)
{
	bool changed = false;

	(void) either_exists_walker((Node *) query, &changed);
	return changed;
}
