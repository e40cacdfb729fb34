/*
 * cutting.c: something else in place of groups of FROM items of a level. See cutting.h.
 *
 * One pass over the level redirects all references to what was cut, which also finds the
 * columns that come in its place.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "pando/base/expr.h"
#include "pando/plan/row_place.h"
#include "pando/planner/fragment/fragment_path.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/part.h"
#include "pando/planner/residual/cutting.h"
#include "pando/planner/residual/part_fragment.h"

Node *
cutting_cut(Cutting *cutting, CutGroup *group, List *quals)
{
	Cut *cut = palloc0(sizeof(Cut));
	RangeTblRef *ref = makeNode(RangeTblRef);
	List *taken = group_quals(group, quals);

	cut->group = group;
	cut->part = part_make(cutting->query, group->items, taken);
	cut->varno = bms_next_member(group->relids, -1);
	cutting->cuts = lappend(cutting->cuts, cut);
	cutting->consumed = list_concat(cutting->consumed, taken);
	ref->rtindex = cut->varno;
	return (Node *) ref;
}

List *
cutting_not_consumed(Cutting *cutting, List *quals)
{
	List *result = NIL;
	ListCell *cell;

	foreach (cell, quals)
	{
		if (!list_member_ptr(cutting->consumed, lfirst(cell)))
			result = lappend(result, lfirst(cell));
	}
	return result;
}

static Cut *
cut_of_varno(Cutting *cutting, Index varno)
{
	ListCell *cell;

	foreach (cell, cutting->cuts)
	{
		Cut *cut = lfirst(cell);

		if (bms_is_member(varno, cut->group->relids))
			return cut;
	}
	return NULL;
}

static const char *
column_name(RangeTblEntry *rte, AttrNumber attno)
{
	if (attno > 0 && attno <= list_length(rte->eref->colnames))
		return strVal(list_nth(rte->eref->colnames, attno - 1));
	return "column";
}

static Var *
fragment_var(Cutting *cutting, Cut *cut, Node *expr, const char *name)
{
	return makeVar(cut->varno, part_column(cut->part, expr, name), exprType(expr),
				   exprTypmod(expr), exprCollation(expr), cutting->depth);
}

/* Is true in every row of the relation, and not in rows that an outer join added. */
static Expr *
is_present(const RangeTblEntry *rte, Index varno)
{
	NullTest *test = makeNode(NullTest);
	CoerceViaIO *text;

	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	if (rte->rtekind == RTE_RELATION)
	{
		test->arg = (Expr *) makeVar(varno, SelfItemPointerAttributeNumber, TIDOID, -1,
									 InvalidOid, 0);
		return (Expr *) test;
	}
	/* A row of NULLs only is NULL as well, but as text it is not. */
	text = makeNode(CoerceViaIO);
	text->arg = (Expr *) makeVar(varno, InvalidAttrNumber, RECORDOID, -1, InvalidOid, 0);
	text->resulttype = TEXTOID;
	text->resultcollid = DEFAULT_COLLATION_OID;
	text->coerceformat = COERCE_EXPLICIT_CAST;
	text->location = -1;
	test->arg = (Expr *) text;
	return (Expr *) test;
}

static Node *
presence(Cutting *cutting, Cut *cut, Index varno)
{
	RangeTblEntry *rte = rt_fetch(varno, cut->part->rtable);

	if (rte->rtekind != RTE_RELATION && !IsA(linitial(cut->group->items), JoinExpr))
		return (Node *) fragment_var(cutting, cut, makeBoolConst(true, false), "present");
	return (Node *) fragment_var(cutting, cut, (Node *) is_present(rte, varno),
								 "present");
}

/* The value, NULL in rows where an outer join left the relation out. */
static Node *
where_present(Cutting *cutting, Cut *cut, Index varno, Node *value)
{
	return cutting->outer_joins ? expr_if(presence(cutting, cut, varno), value) : value;
}

static Node *
whole_row(Cutting *cutting, Cut *cut, Var *var)
{
	RangeTblEntry *rte = rt_fetch(var->varno, cut->part->rtable);
	RowExpr *row = whole_row_of_columns(rte, var, 0);
	ListCell *cell;

	foreach (cell, row->args)
	{
		Node *field = lfirst(cell);

		if (IsA(field, Var))
			lfirst(cell) = fragment_var(cutting, cut, field,
										column_name(rte, ((Var *) field)->varattno));
	}
	return where_present(cutting, cut, var->varno, expr_row(row));
}

static Node *
redirected(Cutting *cutting, Cut *cut, Var *var)
{
	RangeTblEntry *rte = rt_fetch(var->varno, cut->part->rtable);
	Var *column;

	if (var->varattno == InvalidAttrNumber)
		return whole_row(cutting, cut, var);
	if (var->varattno == TableOidAttributeNumber && rte->rtekind == RTE_RELATION &&
		rte->relkind == RELKIND_PARTITIONED_TABLE)
		elog(ERROR, "a partition's tableoid was left in the query");
	if (var->varattno == TableOidAttributeNumber && rte->rtekind == RTE_RELATION)
		return where_present(cutting, cut, var->varno,
							 (Node *) makeConst(OIDOID, -1, InvalidOid, sizeof(Oid),
												ObjectIdGetDatum(rte->relid), false,
												true));
	column = copyObject(var);
	column->varlevelsup = 0;
	return (Node *) fragment_var(cutting, cut, (Node *) column,
								 column_name(rte, var->varattno));
}

static Node *
redirect_mutator(Node *node, void *context)
{
	Cutting *cutting = context;

	if (node == NULL)
		return NULL;
	if (is_shard_call(node) && shard_call_column(node)->varlevelsup == cutting->depth)
	{
		Cut *cut = cut_of_varno(cutting, shard_call_column(node)->varno);

		node = copyObject(node);
		if (cut == NULL)
			return node;
		IncrementVarSublevelsUp(node, -(int) cutting->depth, 0);
		return (Node *) fragment_var(cutting, cut, node, "place");
	}
	if (IsA(node, Var))
	{
		Var *var = (Var *) node;
		Cut *cut =
			var->varlevelsup == cutting->depth ? cut_of_varno(cutting, var->varno) : NULL;

		return cut != NULL ? redirected(cutting, cut, var) : copyObject(node);
	}
	if (IsA(node, Query))
	{
		Query *result;

		cutting->depth++;
		result = query_tree_mutator((Query *) node, redirect_mutator, context,
									QTW_IGNORE_JOINALIASES);
		cutting->depth--;
		return (Node *) result;
	}
	return expression_tree_mutator(node, redirect_mutator, context);
}

/* No reference to a join's own columns is left, and their origins may be gone. */
static void
forget_join_columns(RangeTblEntry *rte)
{
	rte->joinmergedcols = 0;
	rte->joinaliasvars = rte->joinleftcols = rte->joinrightcols = NIL;
	rte->join_using_alias = NULL;
	rte->alias = NULL;
	rte->eref = makeAlias(rte->eref->aliasname, NIL);
}

/* Entries of the range table that fragments stand for now, or that no longer join. */
static void
empty_cut_entries(Cutting *cutting)
{
	Relids used = compat_relids_in_jointree((Node *) cutting->query->jointree, true);
	Index varno = 0;
	ListCell *cell;

	/* What a change of a local table names besides the join tree. */
	if (cutting->query->resultRelation)
		used = bms_add_member(used, cutting->query->resultRelation);
	if (cutting->query->onConflict)
		used = bms_add_member(used, cutting->query->onConflict->exclRelIndex);
	foreach (cell, cutting->query->rtable)
	{
		RangeTblEntry *rte = lfirst(cell);

		varno++;
		if (!bms_is_member(varno, used) || cut_of_varno(cutting, varno) != NULL)
			lfirst(cell) = unused_rte();
		else if (rte->rtekind == RTE_JOIN)
			forget_join_columns(rte);
	}
}

/* The range table says of each join what the join tree says. */
static bool
join_type_walker(Node *node, void *context)
{
	Query *query = context;

	if (node == NULL)
		return false;
	if (IsA(node, JoinExpr) && ((JoinExpr *) node)->rtindex > 0)
		rt_fetch(((JoinExpr *) node)->rtindex, query->rtable)->jointype =
			((JoinExpr *) node)->jointype;
	return expression_tree_walker(node, join_type_walker, context);
}

static RangeTblEntry *
fragment_of_cut(Cut *cut)
{
	Distribution distribution = distribution_of_query(cut->part);
	RangeTblEntry *rte = part_fragment(cut->part, &distribution);

	fragment_rte_give(rte, cut->group->arguments);
	return rte;
}

/* Puts the new join tree in place and makes the fragments. */
void
cutting_finish(Cutting *cutting, Node *tree)
{
	Query *query = cutting->query;

	query->jointree =
		IsA(tree, FromExpr) ? (FromExpr *) tree : makeFromExpr(list_make1(tree), NULL);
	empty_cut_entries(cutting);
	join_type_walker((Node *) query->jointree, query);
	query_tree_mutator(query, redirect_mutator, cutting,
					   QTW_DONT_COPY_QUERY | QTW_IGNORE_JOINALIASES);
	foreach_ptr (Cut, cut, cutting->cuts)
	{
		list_nth_cell(query->rtable, cut->varno - 1)->ptr_value =
			cut->replace != NULL ? cut->replace(cut) : fragment_of_cut(cut);
	}
}

void
cutting_start(Cutting *cutting, Query *query)
{
	cutting->query = query;
	cutting->outer_joins = join_tree_has_outer((Node *) query->jointree);
}
