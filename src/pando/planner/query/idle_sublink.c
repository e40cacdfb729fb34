/*
 * idle_sublink.c: sublinks whose result nobody can ask for.
 *
 * PostgreSQL folds constants before it plans sublinks (preprocess_expression()): one that
 * stands beside a condition that is never true, or in a branch that is never taken, is
 * not planned, not executed, and no rights are asked for what it reads. It is the same
 * with one that is what EXISTS selects, or a subquery's column that nobody reads. So they
 * go before anything is asked of the query. The expression of one that stays is left as
 * it is.
 *
 * An EXISTS or IN that is a condition by itself becomes a join before that, in which
 * rights are asked; so it stays.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "rewrite/rewriteManip.h"

#include "pando/planner/query/column_use.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/query/exists.h"
#include "pando/planner/query/idle_sublink.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/query_facts.h"
#include "pando/planner/query/source_value.h"

typedef struct Dropping
{
	PlannerInfo *root;
	Query *whole;
	Query *level;
} Dropping;

/* What an expression has in it. */
typedef struct Contents
{
	int sublinks;
	/* What makes a level what it is: aggregates, of this level or one above it, windows,
	 * functions that return sets. */
	int shaping;
	Index depth; /* while a sublink's query is looked at */
} Contents;

static bool
is_shaping(const Node *node, Index depth)
{
	if (IsA(node, Aggref))
		return ((const Aggref *) node)->agglevelsup >= depth;
	if (IsA(node, GroupingFunc))
		return ((const GroupingFunc *) node)->agglevelsup >= depth;
	if (depth > 0)
		return false;
	return IsA(node, WindowFunc) ||
		   (IsA(node, FuncExpr) && ((const FuncExpr *) node)->funcretset) ||
		   (IsA(node, OpExpr) && ((const OpExpr *) node)->opretset);
}

static bool
contents_walker(Node *node, void *context)
{
	Contents *contents = context;

	if (node == NULL)
		return false;
	contents->sublinks += IsA(node, SubLink) && contents->depth == 0;
	contents->shaping += is_shaping(node, contents->depth);
	if (!IsA(node, Query))
		return expression_tree_walker(node, contents_walker, context);
	contents->depth++;
	(void) query_tree_walker((Query *) node, contents_walker, context, 0);
	contents->depth--;
	return false;
}

static Contents
contents_of(Node *expr)
{
	Contents contents = {0};

	(void) contents_walker(expr, &contents);
	return contents;
}

/* The expression without such sublinks, or itself. */
static Node *
without_idle(Node *expr, bool is_condition, Dropping *dropping)
{
	Contents before = contents_of(expr);
	Contents after;
	Node *folded;

	if (before.sublinks == 0)
		return expr;
	folded = eval_const_expressions(dropping->root,
									expression_with_source_values(expr, dropping->level));
	if (is_condition)
		folded = (Node *) canonicalize_qual((Expr *) folded, false);
	after = contents_of(folded);
	if (after.sublinks == before.sublinks || after.shaping != before.shaping)
		return expr;
	return folded;
}

static void
drop_in_targets(List *targets, Dropping *dropping)
{
	foreach_ptr (TargetEntry, entry, targets)
		entry->expr = (Expr *) without_idle((Node *) entry->expr, false, dropping);
}

static bool
becomes_join(Node *qual)
{
	SubLink *sublink =
		(SubLink *) (is_notclause(qual) ? (Node *) get_notclausearg(qual) : qual);

	return IsA(sublink, SubLink) && (sublink->subLinkType == EXISTS_SUBLINK ||
									 sublink->subLinkType == ANY_SUBLINK);
}

static Node *
quals_without_idle(Node *quals, Dropping *dropping)
{
	List *joins = NIL;
	List *others = NIL;
	Node *other;
	Node *left;

	foreach_ptr (Node, qual, quals_flat(quals))
	{
		if (becomes_join(qual))
			joins = lappend(joins, qual);
		else
			others = lappend(others, qual);
	}
	other = quals_as_node(others);
	left = without_idle(other, true, dropping);
	return left == other ? quals : quals_as_node(lappend(joins, left));
}

static bool
drop_in_tree(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FromExpr))
		((FromExpr *) node)->quals =
			quals_without_idle(((FromExpr *) node)->quals, context);
	else if (IsA(node, JoinExpr))
		((JoinExpr *) node)->quals =
			quals_without_idle(((JoinExpr *) node)->quals, context);
	else if (!IsA(node, List))
		return false;
	return expression_tree_walker(node, drop_in_tree, context);
}

static void
drop_in_expressions(Query *level, Dropping *dropping)
{
	/* What a level is grouped by is the same expression wherever it stands. */
	if (level->groupClause == NIL && level->groupingSets == NIL)
	{
		drop_in_targets(level->targetList, dropping);
		level->havingQual = without_idle(level->havingQual, true, dropping);
	}
	drop_in_targets(level->returningList, dropping);
	(void) drop_in_tree((Node *) level->jointree, dropping);
	if (level->onConflict != NULL)
	{
		drop_in_targets(level->onConflict->onConflictSet, dropping);
		level->onConflict->onConflictWhere =
			without_idle(level->onConflict->onConflictWhere, true, dropping);
	}
	foreach_ptr (MergeAction, action, level->mergeActionList)
	{
		action->qual = without_idle(action->qual, true, dropping);
		drop_in_targets(action->targetList, dropping);
	}
	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		foreach_ptr (List, row, rte->values_lists)
		{
			ListCell *cell;

			foreach (cell, row)
				lfirst(cell) = without_idle(lfirst(cell), false, dropping);
		}
	}
	level->hasSubLinks = checkExprHasSubLink((Node *) level);
}

/* Columns of joins don't say which subquery's they are. */
static void
drop_unread(Query *level, Query *whole)
{
	bool sublinks = false;

	foreach_ptr (RangeTblEntry, rte, level->rtable)
		sublinks |= rte->rtekind == RTE_SUBQUERY && rte->subquery->hasSubLinks;
	if (sublinks && !query_facts(whole).join_columns)
		level_drop_unread_columns(level);
}

static bool
drop_in_level(Query *level, void *context)
{
	Dropping *dropping = context;

	dropping->root->parse = level;
	dropping->level = level;
	if (level->hasSubLinks)
		drop_in_expressions(level, dropping);
	drop_unread(level, dropping->whole);
	return false;
}

void
query_drop_idle_sublinks(Query *query, PlannerGlobal *glob)
{
	Dropping dropping = {.root = makeNode(PlannerInfo), .whole = query};

	dropping.root->glob = glob;
	dropping.root->query_level = 1;
	query_simplify_exists(query);
	(void) query_each_level(query, drop_in_level, &dropping);
}
