/*
 * decorrelate.c: sublinks that refer to the rows they are evaluated for, without it.
 *
 * A sublink that is correlated on other columns than those by which the rows are
 * distributed would have to be evaluated here, row by row. Where only equalities tie it
 * to the rows,
 *
 *     x < (SELECT agg(...) FROM inner WHERE inner.a = outer.b ...)
 *
 * is a join with (SELECT inner.a, agg(...) ... GROUP BY inner.a), provided that it gives
 * NULL for no rows, which x < NULL refuses, or with LATERAL (SELECT agg(...) ... WHERE
 * inner.a = outer.b), where an index finds these; and
 *
 *     EXISTS (SELECT ... FROM inner WHERE inner.a = outer.b ...)
 *
 * is outer.b IN (SELECT inner.a ...); NOT EXISTS stays one, of (SELECT DISTINCT inner.a
 * ...). Both are computed for the values of b alone that the filters of b's table leave
 * over.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/pg_index.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pando/base/expr.h"
#include "pando/metadata/table.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/residual/decorrelate.h"
#include "pando/planner/query/distinct.h"
#include "pando/planner/residual/either_exists.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/query/exists.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/where/hazard.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/where/level.h"
#include "pando/planner/query/part.h"
#include "pando/planner/where/place.h"
#include "pando/planner/query/query_shape.h"

/* Values of one column are enough when they leave no more than that many times the rows.
 */
#define ENOUGH_ROWS 2

/* What a correlated aggregate is joined with. */
typedef enum Joined
{
	JOINED_ALL,	   /* the rows grouped by all values */
	JOINED_VALUES, /* by the values that can occur */
	JOINED_LOOKUP  /* for each value of one column, those with that value, LATERAL */
} Joined;

/* inner = outer, from the sublink's WHERE. */
typedef struct Tie
{
	OpExpr *equality; /* as it was written */
	Node *inner;
	Node *outer; /* as the outer level sees it */
	bool inner_first;
} Tie;

/* ------------------------------------------------------------------------------------
 * What ties a sublink to the rows.
 */

static bool
is_simple_query(const Query *query)
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

/* Takes the ties out of the query's WHERE; NIL if it is tied in another way, too. */
static List *
take_ties(Query *query)
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

/* inner = value in the order in which the operator wants them. */
static Expr *
tie_with(const Tie *tie, Node *inner, Node *outer)
{
	OpExpr *result = copyObject(tie->equality);

	result->args = tie->inner_first ? list_make2(inner, outer) : list_make2(outer, inner);
	return (Expr *) result;
}

/* ------------------------------------------------------------------------------------
 * The values that can occur.
 */

/* A sublink without ties to anything: it can be computed once. */
static bool
sublinks_stand_alone_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
		return query_refers_outside((Query *) ((SubLink *) node)->subselect) ||
			   sublinks_stand_alone_walker(((SubLink *) node)->testexpr, context);
	return expression_tree_walker(node, sublinks_stand_alone_walker, context);
}

static bool
is_filter_of(Node *qual, Index varno)
{
	Relids relids = pull_varnos(NULL, qual);

	return bms_is_member(varno, relids) && bms_num_members(relids) == 1 &&
		   !contain_volatile_functions(qual) && !expression_refers_outside(qual) &&
		   expression_hazard(qual) == NULL && !sublinks_stand_alone_walker(qual, NULL);
}

/* left op (SELECT ...) of one column each, as a test of ANY. */
static Node *
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

/*
 * value op ANY (query's columns): ANY wants the value at the left. NULL: the operator
 * has no form for that.
 */
static Node *
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

static int
only_varno(List *ties)
{
	Relids relids = NULL;

	foreach_ptr (Tie, tie, ties)
		relids = bms_add_members(relids, pull_varnos(NULL, tie->outer));
	return bms_num_members(relids) == 1 ? bms_singleton_member(relids) : 0;
}

/* The outer level's item that has all of the ties' columns, with its filters, and one
 * more unless it is NULL. */
static Query *
outer_values(Query *level, List *ties, Node *but, Node *more)
{
	int varno = only_varno(ties);
	List *filters = NIL;
	Node *item = NULL;
	Query *values;

	if (varno == 0 || rt_fetch(varno, level->rtable)->rtekind != RTE_RELATION ||
		rt_fetch(varno, level->rtable)->securityQuals != NIL)
		return NULL;
	foreach_ptr (Node, candidate, level->jointree->fromlist)
	{
		if (IsA(candidate, RangeTblRef) && ((RangeTblRef *) candidate)->rtindex == varno)
			item = candidate;
	}
	foreach_ptr (Node, qual, quals_flat(level->jointree->quals))
	{
		if (qual != but && is_filter_of(qual, varno))
			filters = lappend(filters, qual);
	}
	if (item == NULL || filters == NIL)
		return NULL;
	if (more != NULL)
		filters = lappend(filters, more);
	values = part_make(level, list_make1(item), filters);
	foreach_ptr (Tie, tie, ties)
	{
		char name[32];

		snprintf(name, sizeof(name), "value%d", list_length(values->targetList) + 1);
		values->targetList = lappend(values->targetList,
									 makeTargetEntry(copyObject((Expr *) tie->outer),
													 list_length(values->targetList) + 1,
													 pstrdup(name), false));
	}
	return values;
}

/* Leaves of the query what has the ties' values. False: an operator has no form for it.
 */
static bool
add_values(Query *query, Query *level, List *ties, Node *but)
{
	Query *values = outer_values(level, ties, but, NULL);
	List *tests = NIL;
	int number = 0;

	if (values == NULL)
		return false;
	foreach_ptr (Tie, tie, ties)
	{
		Node *test = tie_test(tie, tie->inner, ++number, tie->outer, true);

		if (test == NULL)
			return false;
		tests = lappend(tests, test);
	}
	query->jointree->quals =
		make_and_qual(query->jointree->quals, any_sublink(tests, values));
	query->hasSubLinks = true;
	return true;
}

static double
rows_with_values(Query *query, Query *level, List *ties, Node *but)
{
	Query *copy = copyObject(query);

	return add_values(copy, level, ties, but) ? estimate_query(copy).input : -1;
}

/*
 * A change looks once more at rows that somebody else has changed while it waited for
 * them: with what was true of those that it had found before it would miss their values.
 */
static bool
is_change(const Query *level)
{
	return level->resultRelation != 0;
}

/*
 * Only the values that can occur need to be looked for. Those of one column do, where
 * the others would leave hardly fewer rows: there are fewer of them.
 */
static void
restrict_to_values(Query *query, Query *level, List *ties, Node *but)
{
	double all;
	double least;
	List *chosen = ties;

	if (is_change(level))
		return;
	all = list_length(ties) > 1 ? rows_with_values(query, level, ties, but) : -1;
	least = all * ENOUGH_ROWS;
	foreach_ptr (Tie, tie, all > 0 ? ties : NIL)
	{
		double rows = rows_with_values(query, level, list_make1(tie), but);

		if (rows <= 0 || rows > least)
			continue;
		least = rows;
		chosen = list_make1(tie);
	}
	(void) add_values(query, level, chosen, but);
}

/* ------------------------------------------------------------------------------------
 * Aggregates.
 */

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

static Node *
column_of(Query *query, Index varno, int resno)
{
	Node *expr = (Node *) ((TargetEntry *) list_nth(query->targetList, resno - 1))->expr;

	return (Node *) makeVar(varno, resno, exprType(expr), exprTypmod(expr),
							exprCollation(expr), 0);
}

/* Is the column the first one of an index of the query's table? */
static bool
is_indexed(Query *query, Node *column)
{
	Var *var = (Var *) column;
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

/* The tie by which the query's rows are looked up; NULL: they had to be read in full. */
static Tie *
tie_of_lookup(Query *query, List *ties)
{
	foreach_ptr (Tie, tie, ties)
	{
		if (is_indexed(query, tie->inner))
			return tie;
	}
	return NULL;
}

/* The qualification as several about a joined subquery; NIL: it can't be one. */
static List *
join_aggregate(Query *level, Node *qual, SubLink *sublink, Joined joined)
{
	Query *query = copyObject((Query *) sublink->subselect);
	Replace replace = {.old = (Node *) sublink};
	List *ties;
	List *result;
	Index varno;
	Tie *lookup = NULL;
	int resno = 1;

	if (!query->hasAggs || !is_simple_query(query) || list_length(query->targetList) != 1)
		return NIL;
	ties = take_ties(query);
	if (ties == NIL ||
		!is_null_of_nothing((Node *) ((TargetEntry *) linitial(query->targetList))->expr))
		return NIL;
	((TargetEntry *) linitial(query->targetList))->resname = pstrdup("value");
	((TargetEntry *) linitial(query->targetList))->ressortgroupref = 0;
	level_clear(query, LEVEL_ORDER);
	varno = list_length(level->rtable) + 1;
	replace.new = column_of(query, varno, 1);
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
			lappend(result, tie_with(tie, column_of(query, varno, ++resno), tie->outer));
	}
	if (joined == JOINED_VALUES)
		restrict_to_values(query, level, ties, qual);
	level_add_query(level, "grouped", query)->lateral = lookup != NULL;
	return result;
}

/* ------------------------------------------------------------------------------------
 * EXISTS.
 */

/* NOT EXISTS (SELECT FROM (query, each row once) WHERE tests); NULL if its rows can't be
 * told apart. */
static Node *
not_exists(Query *query, List *tests)
{
	RangeTblEntry *rte;

	query_make_distinct(query);
	if (query->distinctClause == NIL)
		return NULL;
	rte = rte_of_query("tied", query);
	rte->alias = makeAlias("tied", NIL);
	return none_of(query_from_rte(rte), tests);
}

/* The tie of the values themselves: value = outer; NULL: that isn't what it compares by.
 */
static Tie *
tie_of_value(const Tie *tie)
{
	const OpExpr *equality = tie->equality;
	Oid family =
		equality_family(equality->opno, linitial(equality->args), equality->inputcollid);
	Tie *result = palloc0(sizeof(Tie));

	result->equality = (OpExpr *) equality_of(tie->outer, tie->outer, family);
	result->inner = result->outer = tie->outer;
	result->inner_first = true;
	return result->equality != NULL ? result : NULL;
}

/* Are so many lookups, in each of so many shards, fewer than the rows to be read? */
static bool
lookups_are_less(Query *values, Query *rows, int shards)
{
	return estimate_query(values).rows * shards < estimate_query(rows).input;
}

/*
 * The values for which the sublink has rows, with the ties to them: where every node has
 * the item that they are of, and an index finds those rows, each node asks for its own
 * ones up to the first. NULL: the rows' values are read, see below.
 */
static Query *
values_that_exist(Query *level, Query *query, List **ties, SubLink *sublink, Node *but)
{
	int varno = only_varno(*ties);
	Query *all = outer_values(level, *ties, but, NULL);
	Distribution distribution;
	List *own = NIL;
	Query *values;

	if (all == NULL || is_change(level) || tie_of_lookup(query, *ties) == NULL ||
		place_table(rt_fetch(varno, level->rtable)->relid, varno)->kind != PLACE_ANYWHERE)
		return NULL;
	values = outer_values(level, *ties, but, copyObject((Node *) sublink));
	query_make_distinct(values);
	if (!query_is_set(values))
		return NULL;
	foreach_ptr (Tie, tie, *ties)
	{
		Tie *of_value = tie_of_value(tie);

		if (of_value == NULL)
			return NULL;
		own = lappend(own, of_value);
	}
	distribution = distribution_of_set(values);
	if (!distribution_has_shards(&distribution) ||
		!lookups_are_less(all, query, estimate_tasks(&distribution)))
		return NULL;
	*ties = own;
	return values;
}

/* Has it been made so before: are its rows distinct ones of the tied columns alone? */
static bool
is_of_distinct_rows(const Query *query)
{
	RangeTblRef *ref = linitial(query->jointree->fromlist);
	RangeTblEntry *rte =
		IsA(ref, RangeTblRef) ? rt_fetch(ref->rtindex, query->rtable) : NULL;

	return list_length(query->jointree->fromlist) == 1 &&
		   query->jointree->quals == NULL && rte != NULL &&
		   rte->rtekind == RTE_SUBQUERY && rte->subquery->distinctClause != NIL;
}

/*
 * outer IN (SELECT inner ...), which PostgreSQL makes a join, or NOT EXISTS (SELECT FROM
 * (SELECT DISTINCT inner ...) WHERE inner = outer), of which it does, too: NOT IN would
 * be looked up in a table of its own for each part of the outer rows.
 */
static Node *
exists_of_values(Query *level, Node *qual, SubLink *sublink, bool negated)
{
	Query *query = copyObject((Query *) sublink->subselect);
	Query *values = NULL;
	List *tests = NIL;
	List *ties;
	int column = 0;

	if (query->hasAggs || !is_simple_query(query))
		return NULL;
	level_clear(query, LEVEL_ROWS | LEVEL_ORDER);
	query->targetList = NIL;
	ties = take_ties(query);
	if (ties == NIL || is_of_distinct_rows(query))
		return NULL;
	if (qual != NULL)
		values = values_that_exist(level, query, &ties, sublink, qual);
	if (values == NULL)
		restrict_to_values(query, level, ties, qual);
	else
		query = values;
	foreach_ptr (Tie, tie, ties)
	{
		/* The text of IN has as many columns as values. */
		int number = values != NULL ? ++column
					 : negated		? part_column(query, tie->inner, "value")
									: part_add_column(query, tie->inner, "value");
		Node *test;

		if (negated)
		{
			Node *outer = copyObject(tie->outer);

			IncrementVarSublevelsUp(outer, 1, 0);
			test = (Node *) tie_with(tie, column_of(query, 1, number), outer);
		}
		else
			test = tie_test(tie, tie->outer, number, tie->inner, false);
		if (test == NULL)
			return NULL;
		tests = lappend(tests, test);
	}
	return negated ? not_exists(query, tests) : any_sublink(tests, query);
}

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
		return is_change(level) ? NIL
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
			if (!checkExprHasSubLink(qual) && is_filter_of(qual, varno))
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

	foreach_ptr (Tie, tie, take_ties(query))
	{
		Var *var = (Var *) tie->inner;
		RangeTblEntry *rte = IsA(var, Var) ? rt_fetch(var->varno, query->rtable) : NULL;
		const DistTable *table =
			rte != NULL && rte->rtekind == RTE_RELATION ? dist_table(rte->relid) : NULL;

		if (table != NULL && table->key == var->varattno && is_indexed(query, tie->inner))
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
