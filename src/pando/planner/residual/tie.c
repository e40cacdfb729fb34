/*
 * tie.c: the equalities that tie a correlated sublink to its rows.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/pg_index.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pando/base/expr.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/residual/tie.h"

bool
is_tied_by_where(const Query *query)
{
	return query->commandType == CMD_SELECT && query->setOperations == NULL &&
		   query->groupClause == NIL && query->groupingSets == NIL &&
		   query->havingQual == NULL && !query->hasWindowFuncs && !query->hasTargetSRFs &&
		   query->distinctClause == NIL && query->limitCount == NULL &&
		   query->limitOffset == NULL && query->rowMarks == NIL &&
		   query->cteList == NIL && query->jointree->fromlist != NIL;
}

static bool
has_vars_of_level(Node *expr, int level)
{
	return contain_vars_of_level(expr, level);
}

/* The tie that a qualification of the sublink is, or NULL. */
static Tie *
tie_of_qual(Node *qual)
{
	OpExpr *equality = (OpExpr *) qual;
	Node *left;
	Node *right;
	Tie *tie;

	if (!IsA(qual, OpExpr) || list_length(equality->args) != 2 ||
		contain_volatile_functions(qual) || checkExprHasSubLink(qual))
		return NULL;
	left = linitial(equality->args);
	right = lsecond(equality->args);
	if (!OidIsValid(equality_family(equality->opno, left, equality->inputcollid)))
		return NULL;
	tie = palloc0(sizeof(Tie));
	tie->equality = equality;
	tie->inner_first = has_vars_of_level(left, 0);
	tie->inner = tie->inner_first ? left : right;
	tie->outer = tie->inner_first ? right : left;
	if (!has_vars_of_level(tie->inner, 0) || expression_refers_outside(tie->inner) ||
		has_vars_of_level(tie->outer, 0) || !has_vars_of_level(tie->outer, 1))
		return NULL;
	tie->outer = copyObject(tie->outer);
	IncrementVarSublevelsUp(tie->outer, -1, 1);
	/* It may not be of a level further up. */
	return expression_refers_outside(tie->outer) ? NULL : tie;
}

List *
ties_take(Query *query)
{
	List *ties = NIL;
	List *rest = NIL;

	foreach_ptr (Node, qual, quals_flat(query->jointree->quals))
	{
		Tie *tie = tie_of_qual(qual);

		if (tie != NULL)
			ties = lappend(ties, tie);
		else
			rest = lappend(rest, qual);
	}
	query->jointree->quals = quals_as_node(rest);
	return query_refers_outside(query) ? NIL : ties;
}

Expr *
tie_with(const Tie *tie, Node *inner, Node *outer)
{
	OpExpr *result = copyObject(tie->equality);

	result->args = tie->inner_first ? list_make2(inner, outer) : list_make2(outer, inner);
	return (Expr *) result;
}

Node *
any_sublink(List *tests, Query *query)
{
	SubLink *sublink = makeNode(SubLink);

	sublink->subLinkType = ANY_SUBLINK;
	sublink->testexpr = list_length(tests) == 1
							? linitial(tests)
							: (Node *) makeBoolExpr(AND_EXPR, tests, -1);
	sublink->operName = list_make1(makeString("="));
	sublink->subselect = (Node *) query;
	sublink->location = -1;
	return (Node *) sublink;
}

Node *
tie_test(const Tie *tie, Node *value, int number, Node *column, bool value_is_inner)
{
	OpExpr *result = copyObject(tie->equality);

	if (tie->inner_first != value_is_inner)
	{
		result->opno = get_commutator(result->opno);
		if (!OidIsValid(result->opno))
			return NULL;
		result->opfuncid = get_opcode(result->opno);
	}
	result->args = list_make2(copyObject(value), expr_sublink_param(number, column));
	return (Node *) result;
}

int
ties_varno(List *ties)
{
	Relids relids = NULL;

	foreach_ptr (Tie, tie, ties)
		relids = bms_add_members(relids, pull_varnos(NULL, tie->outer));
	return bms_num_members(relids) == 1 ? bms_singleton_member(relids) : 0;
}

bool
tie_is_indexed(Query *query, const Tie *tie)
{
	Var *var = (Var *) tie->inner;
	RangeTblEntry *rte = IsA(var, Var) ? rt_fetch(var->varno, query->rtable) : NULL;
	Relation relation;
	bool found = false;

	if (rte == NULL || rte->rtekind != RTE_RELATION)
		return false;
	relation = table_open(rte->relid, NoLock);
	foreach_oid(index, RelationGetIndexList(relation))
	{
		HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));

		if (!HeapTupleIsValid(tuple))
			continue;
		found |= ((Form_pg_index) GETSTRUCT(tuple))->indkey.values[0] == var->varattno;
		ReleaseSysCache(tuple);
	}
	table_close(relation, NoLock);
	return found;
}

Tie *
tie_of_lookup(Query *query, List *ties)
{
	foreach_ptr (Tie, tie, ties)
	{
		if (tie_is_indexed(query, tie))
			return tie;
	}
	return NULL;
}
