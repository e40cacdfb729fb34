/*
 * cut.c: fragments in place of the FROM items of a level that stays on the coordinator.
 *
 * The items of an inner join are put into groups: a group is what can be evaluated on the
 * shards together. Groups that a qualification connects are merged as long as
 * distribution_of_query() says that the merged one still can. An outer join is an item
 * when it can be evaluated whole; else its sides are treated like inner joins of their
 * own. Qualifications that concern one group only go into it: those of WHERE also into
 * the kept side of an outer join, those of the outer join into its other side.
 *
 * First the new join tree is made, then one pass over the level redirects all references,
 * which also finds the columns that the fragments must yield.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "pando/base/expr.h"
#include "pando/metadata/table.h"
#include "pando/plan/row_place.h"
#include "pando/planner/fragment/fragment_path.h"
#include "pando/planner/residual/cut.h"
#include "pando/planner/residual/cutting.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/where/hazard.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/where/copies_here.h"
#include "pando/planner/query/part.h"
#include "pando/planner/residual/part_fragment.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/where/relation_query.h"
#include "pando/planner/residual/sample.h"
#include "pando/transaction/access.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

static Node *cut_from(Cutting *cutting, List *from, List *above);

/* Items that the RTE refers to sideways. */
static Relids
lateral_of_item(Query *query, Node *item)
{
	RangeTblEntry *rte;

	if (IsA(item, JoinExpr))
	{
		Relids inside = get_relids_in_jointree(item, false);
		Relids result = NULL;
		int varno = -1;

		while ((varno = bms_next_member(inside, varno)) >= 0)
		{
			RangeTblRef ref = {.type = T_RangeTblRef, .rtindex = varno};

			result = bms_add_members(result, lateral_of_item(query, (Node *) &ref));
		}
		return bms_difference(result, inside);
	}
	rte = rt_fetch(((RangeTblRef *) item)->rtindex, query->rtable);
	switch (rte->rtekind)
	{
		case RTE_SUBQUERY:
			return pull_varnos_of_level(NULL, (Node *) rte->subquery, 1);
		case RTE_FUNCTION:
			return pull_varnos(NULL, (Node *) rte->functions);
		case RTE_VALUES:
			return pull_varnos(NULL, (Node *) rte->values_lists);
		case RTE_TABLEFUNC:
			return pull_varnos(NULL, (Node *) rte->tablefunc);
		case RTE_RELATION:
			return pull_varnos(NULL, (Node *) rte->tablesample);
		default:
			return NULL;
	}
}

bool
cutting_belongs(Node *qual, const CutGroup *group)
{
	Relids relids = pull_varnos(NULL, qual);

	return !bms_is_empty(relids) && bms_is_subset(relids, group->relids) &&
		   !expression_refers_outside(qual) && expression_hazard(qual) == NULL &&
		   !(group->secured && contain_leaked_vars(qual));
}

List *
cutting_quals(const CutGroup *group, List *quals)
{
	List *result = list_copy(group->quals);
	ListCell *cell;

	foreach (cell, quals)
	{
		if (!checkExprHasSubLink(lfirst(cell)) && cutting_belongs(lfirst(cell), group))
			result = lappend(result, lfirst(cell));
	}
	return result;
}

typedef struct RecordSearch
{
	Query *query;
	Relids relids;
	int depth;
} RecordSearch;

/* Records, and rows of tables and views that other nodes don't have. */
static bool
is_record(const Var *column)
{
	Oid element = get_element_type(column->vartype);
	Oid relid = get_typ_typrelid(OidIsValid(element) ? element : column->vartype);

	if (column->vartype == RECORDOID || column->vartype == RECORDARRAYOID)
		return true;
	return relid >= FirstNormalObjectId && dist_table(relid) == NULL &&
		   get_rel_relkind(relid) != RELKIND_COMPOSITE_TYPE;
}

/* Is there one among the columns of a FROM item? */
static bool
item_has_records(Query *query, Index varno)
{
	List *columns;

	expandRTE(rt_fetch(varno, query->rtable), varno, 0, -1, false, NULL, &columns);
	foreach_ptr (Var, column, columns)
	{
		if (is_record(column))
			return true;
	}
	return false;
}

/* A row as a whole is one of its columns, where it is made of others. */
static bool
is_record_column(Query *query, const Var *var)
{
	if (var->varattno > 0)
		return is_record(var);
	if (var->varattno < InvalidAttrNumber)
		return false;
	return item_has_records(query, var->varno) ||
		   (var->vartype != RECORDOID && is_record(var));
}

static bool
record_walker(Node *node, void *context)
{
	RecordSearch *search = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var *var = (Var *) node;

		if ((int) var->varlevelsup != search->depth ||
			!bms_is_member(var->varno, search->relids))
			return false;
		return is_record_column(search->query, var);
	}
	if (IsA(node, Query))
	{
		bool found;

		search->depth++;
		found = query_tree_walker((Query *) node, record_walker, context,
								  QTW_IGNORE_JOINALIASES);
		search->depth--;
		return found;
	}
	return expression_tree_walker(node, record_walker, context);
}

/* Does the level refer to a column of the group that can't be one of a fragment's? */
static bool
yields_records(Query *query, const CutGroup *group)
{
	RecordSearch search = {.query = query, .relids = group->relids};

	return query_tree_walker(query, record_walker, &search, QTW_IGNORE_JOINALIASES);
}

bool
level_uses_records(Query *query)
{
	CutGroup all = {.relids = get_relids_in_jointree((Node *) query->jointree, false)};

	return yields_records(query, &all);
}

/* Fills the group's distribution. Only one that has all it refers to can be evaluated. */
static void
judge_group(Cutting *cutting, CutGroup *group, List *quals)
{
	Query *part;

	group->distribution.kind = DIST_COORDINATOR;
	group->distribution.reason = "columns of other FROM items, or of type record";
	if (!bms_is_subset(group->lateral, group->relids) ||
		yields_records(cutting->query, group))
		return;
	part = part_make(cutting->query, group->items, cutting_quals(group, quals));
	group->distribution = distribution_of_query(part);
}

CutGroup *
cutting_group(Cutting *cutting, Node *item, List *quals)
{
	CutGroup *group = palloc0(sizeof(CutGroup));
	int varno = -1;

	group->items = list_make1(item);
	group->relids = get_relids_in_jointree(item, false);
	group->lateral = lateral_of_item(cutting->query, item);
	while ((varno = bms_next_member(group->relids, varno)) >= 0)
	{
		if (rt_fetch(varno, cutting->query->rtable)->securityQuals != NIL)
			group->secured = true;
	}
	judge_group(cutting, group, quals);
	return group;
}

static bool
connected(const CutGroup *a, const CutGroup *b, List *quals)
{
	Relids both = bms_union(a->relids, b->relids);
	ListCell *cell;

	if (bms_overlap(a->lateral, b->relids) || bms_overlap(b->lateral, a->relids))
		return true;
	foreach (cell, quals)
	{
		Relids relids = pull_varnos(NULL, lfirst(cell));

		if (bms_overlap(relids, a->relids) && bms_overlap(relids, b->relids) &&
			bms_is_subset(relids, both))
			return true;
	}
	return false;
}

static CutGroup *
merged_group(Cutting *cutting, CutGroup *a, CutGroup *b, List *quals)
{
	CutGroup *group;

	if (a->secured || b->secured || !connected(a, b, quals))
		return NULL;
	group = palloc0(sizeof(CutGroup));
	group->items = list_concat_copy(a->items, b->items);
	group->relids = bms_union(a->relids, b->relids);
	group->lateral = bms_union(a->lateral, b->lateral);
	judge_group(cutting, group, quals);
	return distribution_has_shards(&group->distribution) ? group : NULL;
}

List *
cutting_merge(Cutting *cutting, List *groups, List *quals)
{
	bool progress = true;

	while (progress)
	{
		ListCell *a;
		ListCell *b;

		progress = false;
		foreach (a, groups)
		{
			if (!distribution_has_shards(&((CutGroup *) lfirst(a))->distribution))
				continue;
			foreach (b, groups)
			{
				CutGroup *merged;

				if (lfirst(a) == lfirst(b))
					continue;
				merged = merged_group(cutting, lfirst(a), lfirst(b), quals);
				if (merged == NULL)
					continue;
				lfirst(a) = merged;
				groups = foreach_delete_current(groups, b);
				progress = true;
				break;
			}
			if (progress)
				break;
		}
	}
	return groups;
}

void
cutting_take_sublinks(Cutting *cutting, CutGroup *group, List *quals)
{
	ListCell *cell;

	foreach (cell, quals)
	{
		Distribution before = group->distribution;
		List *without = group->quals;

		if (!checkExprHasSubLink(lfirst(cell)) || !cutting_belongs(lfirst(cell), group))
			continue;
		group->quals = lappend(list_copy(group->quals), lfirst(cell));
		judge_group(cutting, group, quals);
		if (distribution_has_shards(&group->distribution))
			continue;
		group->quals = without;
		group->distribution = before;
	}
}

/*
 * Items that are better left to the residual, to be cut inside: a WITH query that is
 * referenced more than once is computed once; and of a sorted subquery people expect that
 * an outer array_agg() sees its order.
 */
static bool
is_left_whole(Query *query, const CutGroup *group)
{
	Node *item = linitial(group->items);
	RangeTblEntry *rte;

	if (list_length(group->items) != 1 || !IsA(item, RangeTblRef))
		return false;
	rte = rt_fetch(((RangeTblRef *) item)->rtindex, query->rtable);
	return rte->rtekind == RTE_CTE ||
		   (rte->rtekind == RTE_SUBQUERY && rte->subquery->sortClause != NIL);
}

/* Does this node have all that the group reads? */
static bool
is_read_here(Cutting *cutting, const CutGroup *group)
{
	return query_use_local_copies(part_make(cutting->query, group->items, NIL));
}

/* Does the group read reference tables of which this node has no copy? */
static bool
needs_other_node(Cutting *cutting, const CutGroup *group)
{
	return group->distribution.kind == DIST_ANYWHERE &&
		   OidIsValid(group->distribution.anchor) && !is_read_here(cutting, group);
}

/* The table with TABLESAMPLE that the group is; NULL: it is something else. */
static RangeTblEntry *
sampled_table(Cutting *cutting, const CutGroup *group)
{
	Node *item = linitial(group->items);
	RangeTblEntry *rte;

	if (!IsA(item, RangeTblRef))
		return NULL;
	rte = rt_fetch(((RangeTblRef *) item)->rtindex, cutting->query->rtable);
	return rte->rtekind == RTE_RELATION && rte->tablesample != NULL ? rte : NULL;
}

/*
 * A table whose sample has arguments that are known only here, and each time anew, as a
 * part that is sent their values; false if that doesn't make it fit for the nodes.
 */
static bool
group_take_arguments(Cutting *cutting, CutGroup *group, List *quals)
{
	RangeTblEntry *rte = sampled_table(cutting, group);
	TableSampleClause *sample;

	if (rte == NULL)
		return false;
	sample = rte->tablesample;
	rte->tablesample = sample_of_arguments(sample, &group->arguments);
	judge_group(cutting, group, quals);
	if (group->distribution.kind != DIST_COORDINATOR)
		return true;
	rte->tablesample = sample;
	group->arguments = NIL;
	return false;
}

/* The residual's FROM item for a group that becomes a fragment. */
Node *
cutting_cut(Cutting *cutting, CutGroup *group, List *quals)
{
	Cut *cut = palloc0(sizeof(Cut));
	RangeTblRef *ref = makeNode(RangeTblRef);
	List *taken = cutting_quals(group, quals);

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

/* An outer join that can't be evaluated whole: each side by itself. */
static Node *
cut_outer_join(Cutting *cutting, JoinExpr *join, List *above)
{
	JoinType type = join_type_reduced(join, above);
	List *quals = quals_flat(join->quals);
	JoinExpr *result = copyObject(join);

	result->jointype = type;
	result->usingClause = NIL;
	result->larg = cut_from(cutting, list_make1(join->larg),
							type == JOIN_LEFT	 ? above
							: type == JOIN_RIGHT ? quals
												 : NIL);
	result->rarg = cut_from(cutting, list_make1(join->rarg),
							type == JOIN_LEFT	 ? quals
							: type == JOIN_RIGHT ? above
												 : NIL);
	result->quals = quals_as_node(cutting_not_consumed(cutting, quals));
	/* An outer join without a condition is one on true. */
	if (result->quals == NULL)
		result->quals = makeBoolConst(true, false);
	return (Node *) result;
}

static void
refuse_table(const RangeTblEntry *rte, const char *reason)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("%stable \"%s\" is not supported in this query",
						   rte->tablesample != NULL ? "TABLESAMPLE of distributed "
													: "distributed ",
						   get_rel_name(rte->relid)),
					errdetail("What can't be evaluated on its shards: %s.", reason)));
}

/* Here it is an empty shell. */
static void
refuse_shell(Cutting *cutting, const CutGroup *group)
{
	Node *item = linitial(group->items);
	const RangeTblEntry *rte;
	const DistTable *table;

	if (!IsA(item, RangeTblRef))
		return;
	rte = rt_fetch(((RangeTblRef *) item)->rtindex, cutting->query->rtable);
	table = rte->rtekind == RTE_RELATION ? dist_table(rte->relid) : NULL;
	if (table != NULL && dist_table_is_sharded(table))
		refuse_table(rte, group->distribution.reason);
}

bool
level_put_barrier(Query *query, Index varno)
{
	RangeTblEntry *rte = rt_fetch(varno, query->rtable);
	RangeTblEntry *table;
	Query *rows;

	/* PostgreSQL itself filters the rows of a local table that is changed. */
	if (rte->rtekind != RTE_RELATION || rte->securityQuals == NIL ||
		(int) varno == query->resultRelation || access_is_lent(rte))
		return false;
	rows = relation_become_subquery(query, varno);
	rt_fetch(varno, query->rtable)->security_barrier = true;
	table = linitial(rows->rtable);
	rows->jointree->quals = quals_as_node(
		list_concat(table->securityQuals, quals_flat(rows->jointree->quals)));
	table->securityQuals = NIL;
	return true;
}

bool
policies_are_for_here(Query *query, Index varno)
{
	RangeTblRef *ref = makeNode(RangeTblRef);
	Query *part;

	if (rt_fetch(varno, query->rtable)->securityQuals == NIL)
		return false;
	ref->rtindex = varno;
	part = part_make(query, list_make1(ref), NIL);
	part->rowMarks = NIL;
	return distribution_of_query(part).kind == DIST_COORDINATOR;
}

static Node *
cut_item(Cutting *cutting, CutGroup *group, List *quals)
{
	Node *item = linitial(group->items);

	if (distribution_has_shards(&group->distribution) &&
		!is_left_whole(cutting->query, group))
	{
		cutting_take_sublinks(cutting, group, quals);
		return cutting_cut(cutting, group, quals);
	}
	if (needs_other_node(cutting, group))
		return cutting_cut(cutting, group, quals);
	if (sampled_table(cutting, group) != NULL && !is_read_here(cutting, group) &&
		group_take_arguments(cutting, group, quals))
		return cutting_cut(cutting, group, quals);
	if (IsA(item, JoinExpr))
		return cut_outer_join(cutting, (JoinExpr *) item, quals);
	if (!IsA(item, RangeTblRef) ||
		!level_put_barrier(cutting->query, ((RangeTblRef *) item)->rtindex))
		refuse_shell(cutting, group);
	return copyObject(item);
}

/*
 * The new join tree of the inner join of items. `above` are qualifications that hold for
 * the rows and may be taken from where they stand.
 */
static Node *
cut_from(Cutting *cutting, List *from, List *above)
{
	List *quals = list_copy(above);
	List *items = NIL;
	List *groups = NIL;
	List *result = NIL;
	ListCell *cell;

	foreach (cell, from)
		join_tree_flatten(lfirst(cell), &items, &quals);
	foreach (cell, items)
		groups = lappend(groups, cutting_group(cutting, lfirst(cell), quals));
	groups = cutting_merge(cutting, groups, quals);
	foreach (cell, groups)
		result = lappend(result, cut_item(cutting, lfirst(cell), quals));
	quals = cutting_not_consumed(cutting, list_copy_tail(quals, list_length(above)));
	if (list_length(result) == 1 && quals == NIL)
		return linitial(result);
	return (Node *) makeFromExpr(result, quals_as_node(quals));
}

/* ------------------------------------------------------------------------------------
 * Redirecting references to the fragments' columns.
 */

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
	Relids used = get_relids_in_jointree((Node *) cutting->query->jointree, true);
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

void
level_cut_from(Query *query)
{
	Cutting cutting = {0};
	Node *tree;

	cutting_start(&cutting, query);
	tree = cut_from(&cutting, list_make1(query->jointree), NIL);
	if (cutting.cuts != NIL)
		cutting_finish(&cutting, tree);
}

void
level_cut_table(Query *query, Index varno)
{
	Cutting cutting = {0};
	RangeTblRef *ref = makeNode(RangeTblRef);
	List *marks = query->rowMarks;
	List *items = NIL;
	List *all = NIL;
	List *quals = NIL;
	CutGroup *group;

	ref->rtindex = varno;
	/* Whoever asks for this sees to the locks. */
	query->rowMarks = NIL;
	cutting_start(&cutting, query);
	if (!cutting.outer_joins)
		join_tree_flatten((Node *) query->jointree, &items, &all);
	/* They stay where they are: what varies must not be evaluated twice. */
	foreach_ptr (Node, qual, all)
	{
		if (!expression_varies(qual))
			quals = lappend(quals, qual);
	}
	group = cutting_group(&cutting, (Node *) ref, quals);
	if (group->distribution.kind == DIST_COORDINATOR &&
		!group_take_arguments(&cutting, group, quals))
		refuse_table(rt_fetch(varno, query->rtable), group->distribution.reason);
	cutting_cut(&cutting, group, quals);
	cutting_finish(&cutting, (Node *) query->jointree);
	query->rowMarks = marks;
}

void
level_cut_whole(Query *query)
{
	Cutting cutting = {0};
	CutGroup *group = palloc0(sizeof(CutGroup));

	cutting_start(&cutting, query);
	group->items = query->jointree->fromlist;
	group->relids = get_relids_in_jointree((Node *) query->jointree, false);
	group->quals = quals_flat(query->jointree->quals);
	cutting_finish(&cutting, cutting_cut(&cutting, group, NIL));
}

void
level_cut_joined(Query *query)
{
	Cutting cutting = {0};
	CutGroup *group = palloc0(sizeof(CutGroup));
	List *quals = quals_flat(query->jointree->quals);
	Node *ref;

	cutting_start(&cutting, query);
	group->items = query->jointree->fromlist;
	group->relids = get_relids_in_jointree((Node *) query->jointree, false);
	foreach_ptr (Node, qual, quals)
	{
		if (!checkExprHasSubLink(qual))
			group->quals = lappend(group->quals, qual);
	}
	judge_group(&cutting, group, NIL);
	cutting.consumed = list_copy(group->quals);
	cutting_take_sublinks(&cutting, group, quals);
	cutting.consumed = list_union_ptr(cutting.consumed, group->quals);
	ref = cutting_cut(&cutting, group, NIL);
	cutting_finish(&cutting, (Node *) makeFromExpr(
								 list_make1(ref),
								 quals_as_node(cutting_not_consumed(&cutting, quals))));
}
