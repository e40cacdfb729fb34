/*
 * push_down.c: conditions of a level on what its subqueries put out, inside of these.
 *
 * PostgreSQL does the same when it plans a subquery (subquery_is_pushdown_safe() and what
 * stands beside it in allpaths.c), but a level is cut before: what the nodes are not told
 * they send, all groups of all shards. The rules are PostgreSQL's, but that nothing moves
 * that is volatile, has a subquery, or refers to a level above.
 *
 * Each item of FROM sees the conditions that hold for its rows: those of inner joins and
 * of WHERE all of the items, those above an outer join its kept side, the join's own the
 * other one. Implied ones go down without having stood anywhere.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "pando/planner/query/equality.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/push_down.h"
#include "pando/planner/query/query_shape.h"

typedef struct PushDown
{
	Query *query;
	List *moved; /* conditions that went down, to be found by their addresses */
} PushDown;

/* ------------------------------------------------------------------------------------
 * Which conditions a subquery can check.
 */

/* Is the column's value the same in all rows of each window? */
static bool
is_in_all_partitions(const Query *query, TargetEntry *entry)
{
	foreach_ptr (WindowClause, window, query->windowClause)
	{
		if (!targetIsInSortList(entry, InvalidOid, window->partitionClause))
			return false;
	}
	return true;
}

/* May rows be left out by the column before the rest of the query is done? */
static bool
column_can_be_tested(const Query *query, AttrNumber number)
{
	TargetEntry *entry = number > 0 ? get_tle_by_resno(query->targetList, number) : NULL;
	Node *expr = entry != NULL ? (Node *) entry->expr : NULL;

	if (expr == NULL || expression_returns_set(expr) || checkExprHasSubLink(expr) ||
		expression_varies(expr))
		return false;
	if (query->hasDistinctOn &&
		!targetIsInSortList(entry, InvalidOid, query->distinctClause))
		return false;
	return !query->hasWindowFuncs || is_in_all_partitions(query, entry);
}

static bool
columns_can_be_tested(const Query *query, const Bitmapset *columns)
{
	int number = -1;

	while ((number = bms_next_member(columns, number)) >= 0)
	{
		if (!column_can_be_tested(query, number))
			return false;
	}
	return true;
}

/* Does the branch yield these columns of the set operation as they are? */
static bool
branch_has_types(const Query *branch, const SetOperationStmt *top,
				 const Bitmapset *columns)
{
	int number = -1;

	while ((number = bms_next_member(columns, number)) >= 0)
	{
		TargetEntry *entry = get_tle_by_resno(branch->targetList, number);

		if (exprType((Node *) entry->expr) != list_nth_oid(top->colTypes, number - 1) ||
			exprCollation((Node *) entry->expr) !=
				list_nth_oid(top->colCollations, number - 1))
			return false;
	}
	return true;
}

static bool can_test(const Query *query, const Bitmapset *columns);

static bool
branches_can_test(const Query *query, Node *node, const Bitmapset *columns)
{
	const SetOperationStmt *setop = (SetOperationStmt *) node;

	if (IsA(node, RangeTblRef))
	{
		const Query *branch =
			rt_fetch(((RangeTblRef *) node)->rtindex, query->rtable)->subquery;

		return branch_has_types(branch, (SetOperationStmt *) query->setOperations,
								columns) &&
			   can_test(branch, columns);
	}
	/* EXCEPT counts the rows of its right side. */
	return setop->op != SETOP_EXCEPT && branches_can_test(query, setop->larg, columns) &&
		   branches_can_test(query, setop->rarg, columns);
}

/* Is a test of these columns the same inside of the query as on its rows? */
static bool
can_test(const Query *query, const Bitmapset *columns)
{
	if (query->commandType != CMD_SELECT || query->limitCount != NULL ||
		query->limitOffset != NULL || query->groupingSets != NIL ||
		query->rowMarks != NIL)
		return false;
	if (query->setOperations != NULL)
		return branches_can_test(query, query->setOperations, columns);
	return columns_can_be_tested(query, columns);
}

/* The numbers of the item's columns in the condition; NULL: it can't move there. */
static Bitmapset *
tested_columns(Node *qual, Index varno)
{
	Bitmapset *columns = NULL;

	foreach_ptr (Var, var, pull_var_clause(qual, PVC_INCLUDE_PLACEHOLDERS))
	{
		if (var->varno != (int) varno || var->varattno <= 0)
			return NULL;
		columns = bms_add_member(columns, var->varattno);
	}
	return columns;
}

static bool
can_move(const RangeTblEntry *rte, Index varno, Node *qual)
{
	Bitmapset *columns;

	if (checkExprHasSubLink(qual) || expression_refers_outside(qual) ||
		expression_varies(qual))
		return false;
	columns = tested_columns(qual, varno);
	return columns != NULL && can_test(rte->subquery, columns) &&
		   !(rte->security_barrier && contain_leaked_vars(qual));
}

/* ------------------------------------------------------------------------------------
 * Putting them there.
 */

static bool
is_values(const Query *query)
{
	return list_length(query->rtable) == 1 &&
		   ((RangeTblEntry *) linitial(query->rtable))->rtekind == RTE_VALUES;
}

/* Before grouping, if it is about what is grouped by. */
static void
add_condition(Query *query, Node *qual)
{
	bool groups = query->groupClause != NIL || query->hasAggs || query->havingQual;

	if (groups && (query->groupClause == NIL || contain_agg_clause(qual)))
		query->havingQual = make_and_qual(query->havingQual, qual);
	else
		query->jointree->quals = make_and_qual(query->jointree->quals, qual);
}

static void put_in(RangeTblEntry *rte, Index varno, Node *qual);

static void
put_in_branches(const Query *query, Node *node, Index varno, Node *qual)
{
	if (IsA(node, RangeTblRef))
		put_in(rt_fetch(((RangeTblRef *) node)->rtindex, query->rtable), varno, qual);
	else
	{
		put_in_branches(query, ((SetOperationStmt *) node)->larg, varno, qual);
		put_in_branches(query, ((SetOperationStmt *) node)->rarg, varno, qual);
	}
}

/* The condition on the item `varno`, in the query of the entry: that item's, or a branch
 * of it. */
static void
put_in(RangeTblEntry *rte, Index varno, Node *qual)
{
	if (rte->subquery->setOperations != NULL)
	{
		put_in_branches(rte->subquery, rte->subquery->setOperations, varno, qual);
		return;
	}
	/* The text of VALUES has no place for a condition. */
	if (is_values(rte->subquery))
		rte->subquery = query_over_query(rte->subquery, "values");
	add_condition(rte->subquery, ReplaceVarsFromTargetList(
									 qual, varno, 0, rte, rte->subquery->targetList,
									 REPLACEVARS_REPORT_ERROR, 0, NULL));
}

/* ------------------------------------------------------------------------------------
 * The walk over FROM.
 */

static void
push_into_item(PushDown *push, Index varno, List *quals)
{
	RangeTblEntry *rte = rt_fetch(varno, push->query->rtable);

	if (rte->rtekind != RTE_SUBQUERY)
		return;
	foreach_ptr (Node, qual, quals)
	{
		if (!can_move(rte, varno, qual))
			continue;
		put_in(rte, varno, qual);
		push->moved = lappend(push->moved, qual);
	}
	foreach_ptr (Node, qual, equalities_implied(quals))
	{
		if (can_move(rte, varno, qual))
			put_in(rte, varno, qual);
	}
}

/* Those that say nothing of these items. */
static List *
quals_without(List *quals, Relids relids)
{
	List *result = NIL;

	foreach_ptr (Node, qual, quals)
	{
		if (!bms_overlap(pull_varnos(NULL, qual), relids))
			result = lappend(result, qual);
	}
	return result;
}

/* What the join's other side need not have: its own conditions, and those of the kept
 * side's rows. */
static List *
quals_of_added(List *own, List *above, Node *added)
{
	return list_concat(list_copy(own),
					   quals_without(above, compat_relids_in_jointree(added, false)));
}

static void push_into(PushDown *push, Node *node, List *above);

static void
push_into_join(PushDown *push, JoinExpr *join, List *above)
{
	List *own = quals_flat(join->quals);
	List *left = NIL;
	List *right = NIL;

	join->jointype = join_type_reduced(join, above);
	if (join->rtindex != 0)
		rt_fetch(join->rtindex, push->query->rtable)->jointype = join->jointype;
	switch (join->jointype)
	{
		case JOIN_INNER:
			left = right = list_concat(own, above);
			break;
		case JOIN_LEFT:
			left = above;
			right = quals_of_added(own, above, join->rarg);
			break;
		case JOIN_RIGHT:
			left = quals_of_added(own, above, join->larg);
			right = above;
			break;
		default:
			break;
	}
	push_into(push, join->larg, left);
	push_into(push, join->rarg, right);
}

/* above: the conditions that hold for the rows of the item that are wanted */
static void
push_into(PushDown *push, Node *node, List *above)
{
	if (IsA(node, RangeTblRef))
		push_into_item(push, ((RangeTblRef *) node)->rtindex, above);
	else if (IsA(node, JoinExpr))
		push_into_join(push, (JoinExpr *) node, above);
	else
	{
		above = list_concat(quals_flat(((FromExpr *) node)->quals), above);
		foreach_ptr (Node, item, ((FromExpr *) node)->fromlist)
			push_into(push, item, above);
	}
}

static Node *
quals_that_stay(Node *quals, List *moved)
{
	return quals_as_node(list_difference_ptr(quals_flat(quals), moved));
}

static void
take_out(Node *node, List *moved)
{
	if (IsA(node, JoinExpr))
	{
		JoinExpr *join = (JoinExpr *) node;

		join->quals = quals_that_stay(join->quals, moved);
		/* An outer join without a condition is one on true. */
		if (join->quals == NULL && join->jointype != JOIN_INNER)
			join->quals = makeBoolConst(true, false);
		take_out(join->larg, moved);
		take_out(join->rarg, moved);
	}
	else if (IsA(node, FromExpr))
	{
		((FromExpr *) node)->quals = quals_that_stay(((FromExpr *) node)->quals, moved);
		foreach_ptr (Node, item, ((FromExpr *) node)->fromlist)
			take_out(item, moved);
	}
}

void
level_push_down(Query *query)
{
	PushDown push = {.query = query};

	if (query->setOperations != NULL)
		return;
	push_into(&push, (Node *) query->jointree, NIL);
	if (push.moved != NIL)
		take_out((Node *) query->jointree, push.moved);
}
