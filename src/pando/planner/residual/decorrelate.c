/*
 * decorrelate.c: sublinks that refer to the rows they are evaluated for, without it.
 *
 * A sublink that is correlated on other columns than those by which the rows are
 * distributed would have to be evaluated here, row by row. Where only equalities tie it
 * to the rows (tie.c) an aggregate is a join (correlated_aggregate.c), and EXISTS a test
 * of values (exists_values.c). Both are computed for the values alone that the filters of
 * the rows' table leave over (outer_values.c). Here is which sublinks that is done to,
 * and what is drawn from OR.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "pando/metadata/table.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/residual/correlated_aggregate.h"
#include "pando/planner/residual/decorrelate.h"
#include "pando/planner/residual/either_exists.h"
#include "pando/planner/residual/exists_values.h"
#include "pando/planner/residual/outer_values.h"
#include "pando/planner/residual/tie.h"
#include "pando/planner/where/level.h"
#include "pando/planner/where/place.h"

/* ------------------------------------------------------------------------------------
 * Which sublinks.
 */

static bool
sublink_walker(Node *node, void *context)
{
	List **found = context;

	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
		*found = lappend(*found, node);
	return expression_tree_walker(node, sublink_walker, context);
}

/* The only sublink of the expression, NULL if there are none or several. */
static SubLink *
only_sublink(Node *expr)
{
	List *found = NIL;

	sublink_walker(expr, &found);
	return list_length(found) == 1 ? linitial(found) : NULL;
}

/* Is the sublink bound to a key of the item whose columns it refers to? */
static bool
follows_item(Query *level, SubLink *sublink)
{
	Place *place = place_raised(level_analyse((Query *) sublink->subselect, NULL)->place);

	if (place->kind != PLACE_SHARDS)
		return place->kind == PLACE_ANYWHERE;
	foreach_ptr (Node, binding, place->bound)
	{
		Var *var = (Var *) binding;
		RangeTblEntry *rte;
		Place *item;

		if (!IsA(var, Var) || var->varlevelsup > 0)
			continue;
		rte = rt_fetch(var->varno, level->rtable);
		if (rte->rtekind != RTE_RELATION)
			continue;
		item = place_table(rte->relid, var->varno);
		if (item->kind == PLACE_SHARDS && item->colocation == place->colocation &&
			place_has_key(item, binding, false))
			return true;
	}
	return false;
}

static List *
decorrelated(Query *level, Node *qual)
{
	bool negated = is_notclause(qual);
	Node *test = negated ? (Node *) get_notclausearg(qual) : qual;
	SubLink *sublink = only_sublink(qual);
	Node *any;

	if (sublink == NULL || !contain_vars_of_level(sublink->subselect, 1) ||
		follows_item(level, sublink))
		return NIL;
	if (sublink->subLinkType == EXPR_SUBLINK)
		return level_is_change(level)
				   ? NIL
				   : join_aggregate(level, qual, sublink, JOINED_VALUES);
	if (sublink->subLinkType != EXISTS_SUBLINK || test != (Node *) sublink)
		return NIL;
	any = exists_of_values(level, qual, sublink, negated);
	return any != NULL ? list_make1(any) : NIL;
}

/* ------------------------------------------------------------------------------------
 * OR.
 */

/* What each arm says of the item alone; NULL if one says nothing. */
static Node *
said_of_item(BoolExpr *either, Index varno)
{
	List *arms = NIL;

	foreach_ptr (Node, arm, either->args)
	{
		List *said = NIL;

		foreach_ptr (Node, qual, quals_flat(arm))
		{
			if (!checkExprHasSubLink(qual) && qual_is_filter_of(qual, varno))
				said = lappend(said, copyObject(qual));
		}
		if (said == NIL)
			return NULL;
		arms = lappend(arms, quals_as_node(said));
	}
	return (Node *) makeBoolExpr(OR_EXPR, arms, -1);
}

/* (a AND b) OR (a AND c) is a AND (b OR c); and each item gets its own filter. */
static List *
split_or(Node *qual)
{
	List *result;
	List *more = NIL;

	if (contain_volatile_functions(qual) || checkExprHasSubLink(qual))
		return list_make1(qual);
	result = quals_flat((Node *) canonicalize_qual(copyObject((Expr *) qual), false));
	foreach_ptr (Node, part, result)
	{
		Relids relids = pull_varnos(NULL, part);
		int varno = -1;

		if (!is_orclause(part) || bms_num_members(relids) < 2)
			continue;
		while ((varno = bms_next_member(relids, varno)) >= 0)
		{
			Node *said = said_of_item((BoolExpr *) part, varno);

			if (said != NULL)
				more = lappend(more, said);
		}
	}
	return list_concat(result, more);
}

bool
level_may_decorrelate(Query *query)
{
	return query->setOperations == NULL && query->jointree->fromlist != NIL &&
		   !level_has_row_security(query) && query->rowMarks == NIL;
}

Node *
sublink_exists_as_any(Query *level, SubLink *sublink)
{
	return contain_vars_of_level(sublink->subselect, 1) && !follows_item(level, sublink)
			   ? exists_of_values(level, NULL, sublink, false)
			   : NULL;
}

/* Are the rows of the level that the expression is about on shards? */
static bool
is_of_shards(Query *level, Node *expr)
{
	Relids relids = pull_varnos(NULL, expr);
	int varno = -1;

	while ((varno = bms_next_member(relids, varno)) >= 0)
	{
		const RangeTblEntry *rte = rt_fetch(varno, level->rtable);

		if (rte->rtekind == RTE_RELATION &&
			place_table(rte->relid, varno)->kind == PLACE_SHARDS)
			return true;
	}
	return false;
}

/* OR of EXISTS as one test whose values are sent to the rows, or as what its only sublink
 * becomes. */
static List *
decorrelated_or(Query *level, Node *qual)
{
	Node *any = is_of_shards(level, qual) ? either_exists_as_any(level, qual) : NULL;

	return any != NULL ? list_make1(any) : decorrelated(level, qual);
}

static void
put_quals(Query *query, List *quals)
{
	query->jointree->quals = quals_as_node(quals);
	query->hasSubLinks = true;
}

bool
level_decorrelate(Query *query)
{
	List *quals = NIL;
	bool changed = false;

	if (!level_may_decorrelate(query))
		return false;
	foreach_ptr (Node, qual, quals_flat(query->jointree->quals))
	{
		List *instead = NIL;

		if (is_orclause(qual))
			instead =
				checkExprHasSubLink(qual) ? decorrelated_or(query, qual) : split_or(qual);
		else if (checkExprHasSubLink(qual))
			instead = decorrelated(query, qual);
		if (instead == NIL)
			instead = list_make1(qual);
		changed |= list_length(instead) > 1 || linitial(instead) != qual;
		quals = list_concat(quals, instead);
	}
	if (changed)
		put_quals(query, quals);
	return changed;
}

typedef struct JoinAggregates
{
	Joined joined; /* JOINED_ALL: those of what every node has, not those of shards */
	List *grouped; /* the queries that are joined */
} JoinAggregates;

/* Does an index on its table's distribution column find the sublink's rows: in one shard,
 * as on a table that is not distributed? */
static bool
finds_by_key(const SubLink *sublink)
{
	Query *query = copyObject((Query *) sublink->subselect);

	foreach_ptr (Tie, tie, ties_take(query))
	{
		Var *var = (Var *) tie->inner;
		RangeTblEntry *rte = IsA(var, Var) ? rt_fetch(var->varno, query->rtable) : NULL;
		const DistTable *table =
			rte != NULL && rte->rtekind == RTE_RELATION ? dist_table(rte->relid) : NULL;

		if (table != NULL && table->key == var->varattno && tie_is_indexed(query, tie))
			return true;
	}
	return false;
}

/* The qualification as several, if its sublink is one of those that are asked for. */
static List *
joined_aggregate(JoinAggregates *join, Query *level, Node *qual)
{
	SubLink *sublink = only_sublink(qual);
	List *result;

	if (sublink == NULL || sublink->subLinkType != EXPR_SUBLINK)
		return NIL;
	if (!contain_vars_of_level(sublink->subselect, 1))
		return NIL;
	if (join->joined != JOINED_ALL)
		result = !follows_item(level, sublink) &&
						 !(join->joined == JOINED_LOOKUP && finds_by_key(sublink))
					 ? join_aggregate(level, qual, sublink, join->joined)
					 : NIL;
	else if (!contain_volatile_functions(sublink->subselect) &&
			 level_analyse((Query *) sublink->subselect, NULL)->place->kind ==
				 PLACE_ANYWHERE)
		result = join_aggregate(level, qual, sublink, JOINED_ALL);
	else
		return NIL;
	if (result != NIL)
		join->grouped =
			lappend(join->grouped, llast_node(RangeTblEntry, level->rtable)->subquery);
	return result;
}

static bool
join_aggregates_walker(Node *node, void *context)
{
	Query *query = (Query *) node;
	List *quals = NIL;
	bool changed = false;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, join_aggregates_walker, context);
	query_tree_walker(query, join_aggregates_walker, context, 0);
	if (query->commandType != CMD_SELECT || !query->hasSubLinks ||
		!level_may_decorrelate(query))
		return false;
	foreach_ptr (Node, qual, quals_flat(query->jointree->quals))
	{
		List *instead = joined_aggregate(context, query, qual);

		changed |= instead != NIL;
		quals = list_concat(quals, instead != NIL ? instead : list_make1(qual));
	}
	if (changed)
		put_quals(query, quals);
	return false;
}

bool
query_join_aggregates(Query *query, bool lookups)
{
	JoinAggregates join = {.joined = lookups ? JOINED_LOOKUP : JOINED_VALUES};

	(void) join_aggregates_walker((Node *) query, &join);
	return join.grouped != NIL;
}

List *
query_join_copies(Query *query)
{
	JoinAggregates join = {.joined = JOINED_ALL};

	(void) join_aggregates_walker((Node *) query, &join);
	return join.grouped;
}
