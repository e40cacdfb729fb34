/*
 * row_identity.c: ctid tells the rows of a SELECT apart.
 *
 * ctid names a row of one shard, and a row of each other shard as well. With the value of
 * the distribution column, which tells the shard, it names one row again. So where a ctid
 * of a table is compared with another of the same table the distribution columns are
 * compared, too, and where rows are grouped by ctid they are grouped by both:
 *
 *     x.ctid = y.ctid                 ->  x.ctid = y.ctid AND x.k = y.k
 *     ctid IN (SELECT ctid FROM ...)  ->  (ctid, k) IN (SELECT ctid, k FROM ...)
 *     GROUP BY ctid                   ->  GROUP BY ctid, k
 *
 * As a rule all of it then runs on the shards. A subquery's ctid is followed to its
 * table, and the subquery gives the distribution column as well. Where that can't be had
 * (a min(ctid) of rows of several shards, a set operation), an error is raised.
 *
 * Comparisons with anything else, such as a constant, are left alone.
 */
#include "pando/compat/compat.h"

#include "access/stratnum.h"
#include "access/sysattr.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pando/base/expr.h"
#include "pando/metadata/table.h"
#include "pando/plan/row_place.h"
#include "pando/planner/distribute.h"
#include "pando/planner/flatten.h"
#include "pando/planner/row_identity.h"

/* What a ctid names rows of. */
typedef struct Origin
{
	Oid relid; /* a table of several shards; InvalidOid: no such table */
	Node *key; /* its distribution column in the same row; NULL: it can't be had */
} Origin;

static void tell_apart(Query *query, List *outer);

static void
refuse(Oid relid)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("a ctid of table \"%s\" is compared with one that may be of another "
				"shard",
				get_rel_name(relid)),
		 errdetail("Rows of several shards have the same ctid."),
		 errhint("Name the rows by their primary key, or give the distribution column "
				 "as well.")));
}

/* ------------------------------------------------------------------------------------
 * Where a ctid comes from. `levels` are the queries around an expression, inmost first.
 */

static Origin origin_of(Node *node, List *levels);

static bool
is_grouped(Query *query, Node *expr)
{
	TargetEntry *entry = tlist_member((Expr *) expr, query->targetList);

	return entry != NULL && get_sortgroupref_clause_noerr(entry->ressortgroupref,
														  query->groupClause) != NULL;
}

/* Makes the expression one more visible column. */
static AttrNumber
add_column(Query *query, Node *expr)
{
	TargetEntry *added =
		makeTargetEntry(copyObject((Expr *) expr), 0, pstrdup("row_key"), false);
	List *columns = NIL;
	List *junk = NIL;
	AttrNumber number = 0;

	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		if (entry->resjunk)
			junk = lappend(junk, entry);
		else
			columns = lappend(columns, entry);
	}
	query->targetList = list_concat(lappend(columns, added), junk);
	foreach_ptr (TargetEntry, entry, query->targetList)
		entry->resno = ++number;
	return added->resno;
}

/* The position of the expression among the visible columns. */
static AttrNumber
visible_column(Query *query, Node *expr)
{
	foreach_ptr (TargetEntry, entry, query->targetList)
	{
		if (!entry->resjunk && equal(entry->expr, expr))
			return entry->resno;
	}
	return add_column(query, expr);
}

/* Of a column of a query; its key is an expression of that query. */
static Origin
origin_of_column(Query *query, AttrNumber column, List *outer)
{
	TargetEntry *entry = get_tle_by_resno(query->targetList, column);
	Origin origin = {0};

	if (query->setOperations != NULL)
	{
		foreach_ptr (RangeTblEntry, rte, query->rtable)
		{
			if (rte->rtekind == RTE_SUBQUERY && origin.relid == InvalidOid)
				origin = origin_of_column(rte->subquery, column,
										  lcons(query, list_copy(outer)));
		}
		origin.key = NULL;
		return origin;
	}
	if (entry != NULL)
		origin = origin_of((Node *) entry->expr, lcons(query, list_copy(outer)));
	if (origin.key != NULL &&
		(query->groupingSets != NIL ||
		 (query->distinctClause != NIL && !query->hasDistinctOn) ||
		 (query->groupClause != NIL && !is_grouped(query, origin.key))))
		origin.key = NULL;
	return origin;
}

static Query *
with_query(const RangeTblEntry *rte, List *levels)
{
	Query *level = list_nth(levels, rte->ctelevelsup);

	foreach_ptr (CommonTableExpr, cte, level->cteList)
	{
		if (strcmp(cte->ctename, rte->ctename) == 0 && IsA(cte->ctequery, Query) &&
			!cte->cterecursive)
			return (Query *) cte->ctequery;
	}
	return NULL;
}

static Origin
origin_of_relation(const RangeTblEntry *rte, const Var *ctid)
{
	const DistTable *table = dist_table(rte->relid);
	Origin origin = {0};

	if (ctid->varattno != SelfItemPointerAttributeNumber || table == NULL ||
		table->kind != TABLE_HASH || table->nshards < 2)
		return origin;
	origin.relid = rte->relid;
	origin.key =
		(Node *) makeVar(ctid->varno, table->key, table->key_type, table->key_typmod,
						 table->key_collation, ctid->varlevelsup);
	return origin;
}

static Origin
origin_of_var(const Var *var, List *levels)
{
	Query *level = list_nth(levels, var->varlevelsup);
	RangeTblEntry *rte = rt_fetch(var->varno, level->rtable);
	List *here = list_copy_tail(levels, var->varlevelsup);
	Origin origin = {0};
	AttrNumber column;

	if (rte->rtekind == RTE_RELATION)
		return origin_of_relation(rte, var);
	if (rte->rtekind == RTE_CTE)
	{
		Query *query = with_query(rte, here);

		if (query != NULL)
			origin = origin_of_column(query, var->varattno,
									  list_copy_tail(here, rte->ctelevelsup));
		origin.key = NULL;
		return origin;
	}
	if (rte->rtekind != RTE_SUBQUERY)
		return origin;
	origin = origin_of_column(rte->subquery, var->varattno, here);
	if (origin.key == NULL)
		return origin;
	column = visible_column(rte->subquery, origin.key);
	if (column > list_length(rte->eref->colnames))
		rte->eref->colnames =
			lappend(rte->eref->colnames, makeString(pstrdup("row_key")));
	origin.key =
		(Node *) makeVar(var->varno, column, exprType(origin.key), exprTypmod(origin.key),
						 exprCollation(origin.key), var->varlevelsup);
	return origin;
}

/* Of an expression of type tid. */
static Origin
origin_of(Node *node, List *levels)
{
	Origin origin = {0};

	if (node == NULL || exprType(node) != TIDOID)
		return origin;
	if (IsA(node, Var))
		return origin_of_var((Var *) node, levels);
	/* min() and max(): rows of which the grouping tells the shard have it. */
	if (IsA(node, Aggref) && list_length(((Aggref *) node)->args) == 1)
	{
		Aggref *aggregate = (Aggref *) node;
		TargetEntry *argument = linitial(aggregate->args);

		if (aggregate->agglevelsup == 0)
			origin = origin_of((Node *) argument->expr, levels);
		if (origin.key != NULL && !is_grouped(linitial(levels), origin.key))
			origin.key = NULL;
	}
	return origin;
}

/* ------------------------------------------------------------------------------------
 * Comparisons.
 */

static Node *
compare_keys(StrategyNumber strategy, Node *left, Node *right)
{
	TypeCacheEntry *type =
		lookup_type_cache(exprType(left), TYPECACHE_EQ_OPR | TYPECACHE_BTREE_OPFAMILY);
	Oid op = type->eq_opr;
	Oid wanted;
	Oid unused;

	if (strategy != BTEqualStrategyNumber)
		op = !OidIsValid(type->btree_opf)
				 ? InvalidOid
				 : get_opfamily_member(type->btree_opf, type->btree_opintype,
									   type->btree_opintype, strategy);
	if (!OidIsValid(op))
		return NULL;
	op_input_types(op, &wanted, &unused);
	if (wanted != exprType(left) && !IsPolymorphicType(wanted))
	{
		left = (Node *) makeRelabelType((Expr *) left, wanted, -1, exprCollation(left),
										COERCE_IMPLICIT_CAST);
		right = (Node *) makeRelabelType((Expr *) right, wanted, -1, exprCollation(right),
										 COERCE_IMPLICIT_CAST);
	}
	return (Node *) make_opclause(op, BOOLOID, false, (Expr *) left, (Expr *) right,
								  InvalidOid, exprCollation(left));
}

static Node *
compare_ctids(Oid op, Node *left, Node *right)
{
	return (Node *) make_opclause(op, BOOLOID, false, copyObject((Expr *) left),
								  copyObject((Expr *) right), InvalidOid, InvalidOid);
}

/* Two ctids' comparison as one of rows, ordered by ctid and key; NULL: can't be. */
static Node *
compare_rows(Oid op, Node *left, Node *right, Node *left_key, Node *right_key)
{
	Node *keys;
	Oid strictly = op;
	StrategyNumber strategy = BTLessStrategyNumber;

	if (op == TIDEqualOperator || op == get_negator(TIDEqualOperator))
	{
		List *both;

		keys = compare_keys(BTEqualStrategyNumber, left_key, right_key);
		if (keys == NULL)
			return NULL;
		both = list_make2(compare_ctids(TIDEqualOperator, left, right), keys);
		if (op == TIDEqualOperator)
			return (Node *) makeBoolExpr(AND_EXPR, both, -1);
		return (Node *) makeBoolExpr(NOT_EXPR,
									 list_make1(makeBoolExpr(AND_EXPR, both, -1)), -1);
	}
	if (op == TIDGreaterOperator)
		strategy = BTGreaterStrategyNumber;
	else if (op == TIDLessEqOperator)
	{
		strategy = BTLessEqualStrategyNumber;
		strictly = TIDLessOperator;
	}
	else if (op == TIDGreaterEqOperator)
	{
		strategy = BTGreaterEqualStrategyNumber;
		strictly = TIDGreaterOperator;
	}
	else if (op != TIDLessOperator)
		return NULL;
	keys = compare_keys(strategy, left_key, right_key);
	if (keys == NULL)
		return NULL;
	return (Node *) makeBoolExpr(
		OR_EXPR,
		list_make2(
			compare_ctids(strictly, left, right),
			makeBoolExpr(AND_EXPR,
						 list_make2(compare_ctids(TIDEqualOperator, left, right), keys),
						 -1)),
		-1);
}

static bool
compares_ctids(Node *node)
{
	List *args;

	if (!IsA(node, OpExpr) && !IsA(node, DistinctExpr))
		return false;
	args = ((OpExpr *) node)->args;
	return list_length(args) == 2 && exprType(linitial(args)) == TIDOID &&
		   exprType(lsecond(args)) == TIDOID;
}

/* Is it one table of several shards? Raises an error if it is and a key can't be had. */
static bool
are_of_one_table(Origin one, Origin other)
{
	if (one.relid == InvalidOid || one.relid != other.relid)
		return false;
	if (one.key == NULL || other.key == NULL)
		refuse(one.relid);
	return true;
}

static Node *
compared(OpExpr *test, List *levels)
{
	Node *left = linitial(test->args);
	Node *right = lsecond(test->args);
	Origin one = origin_of(left, levels);
	Origin other = origin_of(right, levels);
	Node *result;

	if (!are_of_one_table(one, other))
		return NULL;
	if (IsA(test, DistinctExpr))
	{
		OpExpr *keys = (OpExpr *) compare_keys(BTEqualStrategyNumber, one.key, other.key);

		if (keys == NULL)
			refuse(one.relid);
		NodeSetTag(keys, T_DistinctExpr);
		return (Node *) makeBoolExpr(OR_EXPR, list_make2(test, keys), -1);
	}
	result = compare_rows(test->opno, left, right, one.key, other.key);
	if (result == NULL)
		refuse(one.relid);
	return result;
}

/* ------------------------------------------------------------------------------------
 * Comparisons with what a sublink gives.
 */

/*
 * The comparison of the keys that belongs to one of a ctid with a column of the sublink;
 * NULL: none. The sublink gives its key in a column of its own, the last.
 */
static Node *
key_test(Oid op, Node *ctid, AttrNumber column, SubLink *sublink, List *levels)
{
	Query *query = (Query *) sublink->subselect;
	Origin one = origin_of(ctid, levels);
	Origin other;
	AttrNumber added;
	OpExpr *test;

	if (one.relid == InvalidOid)
		return NULL;
	other = origin_of_column(query, column, levels);
	if (!are_of_one_table(one, other))
		return NULL;
	added = add_column(query, other.key);
	test = (OpExpr *) compare_keys(BTEqualStrategyNumber, one.key,
								   (Node *) expr_sublink_param(added, other.key));
	if (op == get_negator(TIDEqualOperator) && test != NULL)
	{
		test->opno = get_negator(test->opno);
		test->opfuncid = InvalidOid;
	}
	else if (op != TIDEqualOperator)
		test = NULL;
	if (test == NULL || !OidIsValid(test->opno))
		refuse(one.relid);
	return (Node *) test;
}

/* The columns are compared in their order, as text knows it. */
static Node *
test_with_keys(Node *node, SubLink *sublink, List *levels)
{
	List *tests = IsA(node, BoolExpr) ? ((BoolExpr *) node)->args : list_make1(node);
	List *keys = NIL;
	BoolExprType type = AND_EXPR;

	foreach_ptr (OpExpr, test, tests)
	{
		Node *added;

		if (!IsA(test, OpExpr) || !compares_ctids((Node *) test) ||
			!IsA(lsecond(test->args), Param))
			continue;
		added = key_test(test->opno, linitial(test->args),
						 ((Param *) lsecond(test->args))->paramid, sublink, levels);
		if (added != NULL)
			keys = lappend(keys, added);
		if (test->opno != TIDEqualOperator)
			type = OR_EXPR;
	}
	if (keys == NIL)
		return node;
	return (Node *) makeBoolExpr(type, list_concat(list_copy(tests), keys), -1);
}

/* `ctid = (SELECT ...)`, `ctid = ANY (ARRAY(SELECT ...))`; NULL: it stays. */
static Node *
compared_with_sublink(Oid op, Node *ctid, SubLink *sublink, SubLinkType type,
					  List *levels)
{
	TargetEntry *column = linitial(((Query *) sublink->subselect)->targetList);
	Param *param = expr_sublink_param(1, (Node *) column->expr);
	Node *key = key_test(op, ctid, 1, sublink, levels);

	if (key == NULL)
		return NULL;
	sublink->subLinkType = type;
	sublink->testexpr = (Node *) makeBoolExpr(
		op == TIDEqualOperator ? AND_EXPR : OR_EXPR,
		list_make2(compare_ctids(op, ctid, (Node *) param), key), -1);
	sublink->operName = list_make1(makeString(get_opname(op)));
	return (Node *) sublink;
}

static Node *
operator_with_sublink(OpExpr *test, List *levels)
{
	Node *left = linitial(test->args);
	Node *right = lsecond(test->args);
	Oid op = test->opno;

	if (IsA(left, SubLink) && !IsA(right, SubLink))
	{
		Node *swap = left;

		left = right;
		right = swap;
		op = get_commutator(op);
	}
	if (!IsA(right, SubLink) || ((SubLink *) right)->subLinkType != EXPR_SUBLINK)
		return NULL;
	if (IsA(test, DistinctExpr))
	{
		Origin one = origin_of(left, levels);

		if (one.relid != InvalidOid &&
			origin_of_column((Query *) ((SubLink *) right)->subselect, 1, levels).relid ==
				one.relid)
			refuse(one.relid);
		return NULL;
	}
	return compared_with_sublink(op, left, (SubLink *) right, ROWCOMPARE_SUBLINK, levels);
}

static Node *
array_with_sublink(ScalarArrayOpExpr *test, List *levels)
{
	Node *ctid = linitial(test->args);
	SubLink *sublink = lsecond(test->args);

	if (exprType(ctid) != TIDOID || !IsA(sublink, SubLink) ||
		sublink->subLinkType != ARRAY_SUBLINK)
		return NULL;
	return compared_with_sublink(test->opno, ctid, sublink,
								 test->useOr ? ANY_SUBLINK : ALL_SUBLINK, levels);
}

/* count(DISTINCT ctid) counts places: a subquery's rows have none. */
static void
count_places(Aggref *aggregate, List *levels)
{
	TargetEntry *argument;
	Origin origin;
	Var *ctid;

	if (aggregate->aggdistinct == NIL || list_length(aggregate->args) != 1)
		return;
	argument = linitial(aggregate->args);
	origin = origin_of((Node *) argument->expr, levels);
	if (origin.relid == InvalidOid)
		return;
	ctid = (Var *) argument->expr;
	if (aggregate->aggfnoid != F_COUNT_ANY || !IsA(ctid, Var) || ctid->varlevelsup != 0 ||
		ctid->varattno != SelfItemPointerAttributeNumber)
		refuse(origin.relid);
	argument->expr = (Expr *) row_place_call(ctid->varno);
	aggregate->aggargtypes = list_make1_oid(TEXTOID);
	aggregate->inputcollid = exprCollation((Node *) argument->expr);
	get_sort_group_operators(
		TEXTOID, true, true, false,
		&linitial_node(SortGroupClause, aggregate->aggdistinct)->sortop,
		&linitial_node(SortGroupClause, aggregate->aggdistinct)->eqop, NULL,
		&linitial_node(SortGroupClause, aggregate->aggdistinct)->hashable);
}

/* ------------------------------------------------------------------------------------
 * The walk.
 */

static Node *
row_mutator(Node *node, void *context)
{
	List *levels = context;
	Node *result = NULL;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		tell_apart((Query *) node, levels);
		return node;
	}
	if (is_row_place(node))
		return node;
	node = expression_tree_mutator(node, row_mutator, context);
	if (compares_ctids(node))
	{
		result = operator_with_sublink((OpExpr *) node, levels);
		if (result == NULL)
			result = compared((OpExpr *) node, levels);
	}
	else if (IsA(node, ScalarArrayOpExpr))
		result = array_with_sublink((ScalarArrayOpExpr *) node, levels);
	else if (IsA(node, SubLink) && ((SubLink *) node)->testexpr != NULL)
	{
		SubLink *sublink = (SubLink *) node;

		sublink->testexpr = test_with_keys(sublink->testexpr, sublink, levels);
	}
	else if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0)
		count_places((Aggref *) node, levels);
	return result ? result : node;
}

/* Adds the keys of the ctids in a list of GROUP BY, PARTITION BY, DISTINCT. */
static List *
with_keys(Query *query, List *clauses, List *levels)
{
	List *result = list_copy(clauses);

	foreach_ptr (SortGroupClause, clause, clauses)
	{
		TargetEntry *entry = get_sortgroupclause_tle(clause, query->targetList);
		Origin origin = origin_of((Node *) entry->expr, levels);
		SortGroupClause *added;
		TargetEntry *key;

		if (origin.relid == InvalidOid)
			continue;
		if (origin.key == NULL || query->groupingSets != NIL)
			refuse(origin.relid);
		key = tlist_member((Expr *) origin.key, query->targetList);
		if (key != NULL && key->ressortgroupref != 0 &&
			get_sortgroupref_clause_noerr(key->ressortgroupref, result) != NULL)
			continue;
		if (clauses != query->groupClause && query->groupClause != NIL &&
			!is_grouped(query, origin.key))
			refuse(origin.relid);
		if (key == NULL)
		{
			key = makeTargetEntry((Expr *) origin.key, list_length(query->targetList) + 1,
								  NULL, true);
			query->targetList = lappend(query->targetList, key);
		}
		added = makeNode(SortGroupClause);
		added->tleSortGroupRef = assignSortGroupRef(key, query->targetList);
		get_sort_group_operators(exprType(origin.key), false, true, false, &added->sortop,
								 &added->eqop, NULL, &added->hashable);
		result = lappend(result, added);
	}
	return result;
}

static bool
tells_apart(Node *setop)
{
	SetOperationStmt *operation = (SetOperationStmt *) setop;

	return IsA(setop, SetOperationStmt) &&
		   (operation->op != SETOP_UNION || !operation->all ||
			tells_apart(operation->larg) || tells_apart(operation->rarg));
}

/* Branches whose rows are compared must have the keys among their columns. */
static void
check_branches(Query *query, List *levels)
{
	if (!tells_apart(query->setOperations))
		return;
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (rte->rtekind != RTE_SUBQUERY)
			continue;
		foreach_ptr (TargetEntry, entry, rte->subquery->targetList)
		{
			Origin origin = {0};
			TargetEntry *key = NULL;

			if (!entry->resjunk && exprType((Node *) entry->expr) == TIDOID)
				origin = origin_of_column(rte->subquery, entry->resno, levels);
			if (origin.key != NULL)
				key = tlist_member((Expr *) origin.key, rte->subquery->targetList);
			if (origin.relid != InvalidOid && (key == NULL || key->resjunk))
				refuse(origin.relid);
		}
	}
}

/* In place, from the inside to the outside. */
static void
tell_apart(Query *query, List *outer)
{
	List *levels = lcons(query, list_copy(outer));
	List *distinct;

	check_stack_depth();
	level_inline_ctes(query);
	foreach_ptr (CommonTableExpr, cte, query->cteList)
		tell_apart((Query *) cte->ctequery, levels);
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (rte->rtekind == RTE_SUBQUERY)
			tell_apart(rte->subquery, levels);
		rte->functions = (List *) row_mutator((Node *) rte->functions, levels);
		rte->values_lists = (List *) row_mutator((Node *) rte->values_lists, levels);
	}
	if (query->setOperations != NULL)
	{
		check_branches(query, levels);
		return;
	}
	query->jointree = (FromExpr *) row_mutator((Node *) query->jointree, levels);
	query->targetList = (List *) row_mutator((Node *) query->targetList, levels);
	query->havingQual = row_mutator(query->havingQual, levels);

	query->groupClause = with_keys(query, query->groupClause, levels);
	foreach_ptr (WindowClause, window, query->windowClause)
		window->partitionClause = with_keys(query, window->partitionClause, levels);
	distinct = with_keys(query, query->distinctClause, levels);
	if (list_length(distinct) > list_length(query->distinctClause))
		query->hasDistinctOn = true;
	query->distinctClause = distinct;
	level_join_columns_refresh(query);
}

static bool
ctid_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno == SelfItemPointerAttributeNumber;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, ctid_walker, context,
								 QTW_IGNORE_JOINALIASES);
	return expression_tree_walker(node, ctid_walker, context);
}

bool
query_reads_ctid(Query *query)
{
	return ctid_walker((Node *) query, NULL);
}

Query *
query_with_rows_told_apart(Query *query)
{
	query = query_without_join_columns(copyObject(query));
	tell_apart(query, NIL);
	return query;
}
