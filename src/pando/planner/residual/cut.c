/*
 * cut.c: fragments in place of the FROM items of a level that stays on the coordinator.
 *
 * The items of an inner join are put into groups (cut_group.c). An outer join is an item
 * when it can be evaluated whole; else its sides are treated like inner joins of their
 * own. Qualifications that concern one group only go into it: those of WHERE also into
 * the kept side of an outer join, those of the outer join into its other side.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "pando/planner/query/column_use.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/part.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/residual/cut.h"
#include "pando/planner/residual/cutting.h"
#include "pando/planner/residual/sample.h"
#include "pando/planner/where/copies_here.h"
#include "pando/planner/where/relation_query.h"
#include "pando/transaction/access.h"

static Node *cut_from(Cutting *cutting, List *from, List *above);

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
	group_judge(cutting->query, group, quals);
	if (group->distribution.kind != DIST_COORDINATOR)
		return true;
	rte->tablesample = sample;
	group->arguments = NIL;
	return false;
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
		group_take_sublinks(cutting->query, group, quals);
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
 * What is referred to sideways comes before what refers to it: PostgreSQL counts on it,
 * and a group stands where its last item stood. Nothing that several items went into
 * refers to others.
 */
static List *
lateral_last(List *groups)
{
	List *first = NIL;
	List *last = NIL;

	foreach_ptr (CutGroup, group, groups)
	{
		if (bms_is_subset(group->lateral, group->relids))
			first = lappend(first, group);
		else
			last = lappend(last, group);
	}
	return list_concat(first, last);
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
		groups = lappend(groups, group_of_item(cutting->query, lfirst(cell), quals));
	groups = lateral_last(groups_merge(cutting->query, groups, quals));
	foreach (cell, groups)
		result = lappend(result, cut_item(cutting, lfirst(cell), quals));
	quals = cutting_not_consumed(cutting, list_copy_tail(quals, list_length(above)));
	if (list_length(result) == 1 && quals == NIL)
		return linitial(result);
	return (Node *) makeFromExpr(result, quals_as_node(quals));
}

/*
 * Tables with policies that are read here, of which the level uses system columns: these
 * become columns of subqueries, in conditions too, which must not have been taken apart.
 */
static void
put_barriers_of_system_columns(Query *query)
{
	RangeTblRef ref = {.type = T_RangeTblRef};

	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		const DistTable *table;

		ref.rtindex++;
		if (rte->rtekind != RTE_RELATION || rte->securityQuals == NIL ||
			!column_use(query, ref.rtindex).system)
			continue;
		table = dist_table(rte->relid);
		if (table != NULL && dist_table_is_sharded(table))
			continue;
		if (query_use_local_copies(part_make(query, list_make1(&ref), NIL)))
			(void) level_put_barrier(query, ref.rtindex);
	}
}

void
level_cut_from(Query *query)
{
	Cutting cutting = {0};
	Node *tree;

	put_barriers_of_system_columns(query);
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
	group = group_of_item(query, (Node *) ref, quals);
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
	group->relids = compat_relids_in_jointree((Node *) query->jointree, false);
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
	group->relids = compat_relids_in_jointree((Node *) query->jointree, false);
	foreach_ptr (Node, qual, quals)
	{
		if (!checkExprHasSubLink(qual))
			group->quals = lappend(group->quals, qual);
	}
	group_judge(query, group, NIL);
	cutting.consumed = list_copy(group->quals);
	group_take_sublinks(query, group, quals);
	cutting.consumed = list_union_ptr(cutting.consumed, group->quals);
	ref = cutting_cut(&cutting, group, NIL);
	cutting_finish(&cutting, (Node *) makeFromExpr(
								 list_make1(ref),
								 quals_as_node(cutting_not_consumed(&cutting, quals))));
}
