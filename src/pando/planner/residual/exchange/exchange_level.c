/*
 * exchange_level.c: levels that are made fit to be evaluated on the shards.
 *
 * Where groups of FROM items don't fit together, one of them (or both) becomes an
 * exchange, which is read in its place. The level stays as it was written otherwise, so
 * that outer joins and what is above them keep their meaning. One move at a time, the
 * one that costs least, until the level fits; then groups are found anew.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "pando/planner/residual/cut_group.h"
#include "pando/planner/residual/exchange/exchange_level.h"
#include "pando/planner/query/cte_use.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/group_by.h"
#include "pando/planner/where/cte_once.h"
#include "pando/planner/residual/cutting.h"
#include "pando/planner/residual/decorrelate.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/residual/exchange/exchange.h"
#include "pando/planner/residual/exchange/exchange_move.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/part.h"
#include "pando/planner/query/push_down.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/where/result_scope.h"

typedef struct Fit
{
	Cutting cutting;
	bool moved;
} Fit;

static Node *fit_from(Fit *fit, List *from, List *above);

static Node *
cut_move(Fit *fit, const Move *move, List *quals)
{
	Node *ref;
	Cut *cut;

	/* Where they are now the rows may be next to what sublinks read, and fewer go. */
	if (distribution_has_shards(&move->group->distribution))
		group_take_sublinks(fit->cutting.query, move->group, quals);
	ref = cutting_cut(&fit->cutting, move->group, quals);
	cut = llast(fit->cutting.cuts);

	cut->replace = exchange_of_cut;
	cut->data = memcpy(palloc(sizeof(Move)), move, sizeof(Move));
	return ref;
}

/* Items of an inner join as one node, as the deparser knows them; NULL: can't be. */
static Node *
items_as_node(List *items, List *quals)
{
	Node *result = linitial(items);
	ListCell *cell;

	if (list_length(items) == 1)
		return quals == NIL ? result : NULL;
	for_each_from(cell, items, 1)
	{
		JoinExpr *join = makeNode(JoinExpr);

		join->jointype = JOIN_INNER;
		join->larg = result;
		join->rarg = lfirst(cell);
		join->quals = lnext(items, cell) == NULL && quals != NIL
						  ? quals_as_node(quals)
						  : makeBoolConst(true, false);
		result = (Node *) join;
	}
	return result;
}

/* The items after moves, those that were cut replaced. */
static List *
items_after(Fit *fit, List *items, const Choice *choice, List *quals)
{
	List *result = list_copy(items);

	for (int i = 0; i < choice->nmoves; i++)
	{
		const Move *move = &choice->moves[i];
		Node *ref = cut_move(fit, move, quals);

		foreach_ptr (Node, item, move->group->items)
		{
			if (item == linitial(move->group->items))
			{
				ListCell *cell;

				foreach (cell, result)
				{
					if (lfirst(cell) == item)
						lfirst(cell) = ref;
				}
			}
			else
				result = list_delete_ptr(result, item);
		}
	}
	fit->moved = true;
	return result;
}

/* ------------------------------------------------------------------------------------
 * Looking for a move.
 */

static bool
fits(const CutGroup *group)
{
	return distribution_has_shards(&group->distribution) ||
		   group->distribution.kind == DIST_ANYWHERE;
}

static Node *
side_as_node(Node *side)
{
	return side != NULL && IsA(side, FromExpr)
			   ? items_as_node(((FromExpr *) side)->fromlist,
							   quals_flat(((FromExpr *) side)->quals))
			   : side;
}

/* A move inside of an outer join, or of one of its sides; NULL: none. */
static Node *
fit_outer_join(Fit *fit, JoinExpr *join, List *above)
{
	JoinType type = join_type_reduced(join, above);
	List *quals = quals_flat(join->quals);
	List *above_left = type == JOIN_LEFT ? above : type == JOIN_RIGHT ? quals : NIL;
	List *above_right = type == JOIN_LEFT ? quals : type == JOIN_RIGHT ? above : NIL;
	JoinExpr *result = makeNode(JoinExpr);

	*result = *join;
	result->jointype = type;
	result->larg = fit_from(fit, list_make1(join->larg), above_left);
	if (result->larg == NULL)
		return NULL;
	if (!fit->moved)
	{
		result->larg = join->larg;
		result->rarg = fit_from(fit, list_make1(join->rarg), above_right);
		if (result->rarg == NULL)
			return NULL;
	}
	if (!fit->moved)
	{
		CutGroup *left = group_of_item(fit->cutting.query, join->larg, above_left);
		CutGroup *right = group_of_item(fit->cutting.query, join->rarg, above_right);
		Choice best = move_of_outer_join(fit->cutting.query, left, right, above_left,
										 above_right, quals, type);

		if (best.cost < 0)
			return NULL;
		result->larg = join->larg;
		result->rarg = join->rarg;
		for (int i = 0; i < best.nmoves; i++)
		{
			bool is_left = best.moves[i].group == left;
			Node *ref = cut_move(fit, &best.moves[i], is_left ? above_left : above_right);

			if (is_left)
				result->larg = ref;
			else
				result->rarg = ref;
		}
		fit->moved = true;
	}
	result->larg = side_as_node(result->larg);
	result->rarg = side_as_node(result->rarg);
	if (result->larg == NULL || result->rarg == NULL)
		return NULL;
	result->quals = quals_as_node(cutting_not_consumed(&fit->cutting, quals));
	/* An outer join without a condition is one on true. */
	if (result->quals == NULL)
		result->quals = makeBoolConst(true, false);
	return (Node *) result;
}

/*
 * What is left of the qualifications for those who read the group's rows. Columns that
 * are equal in each of them count as one, that by which they move: else it would be
 * expected that few rows have two columns of one value.
 */
static List *
quals_after(const Move *move, List *quals, List *rest)
{
	Equalities *equalities = equalities_create();

	equalities_add(equalities, group_quals(move->group, quals));
	return equalities_by_first(equalities, rest, move->column);
}

/*
 * The inner join of `from`, after one move if one is needed; `above`: qualifications that
 * hold for the rows and may be taken from where they stand. NULL: none could be found.
 */
static Node *
fit_from(Fit *fit, List *from, List *above)
{
	List *quals = list_copy(above);
	List *items = NIL;
	List *groups = NIL;
	List *rest;
	Choice choice;
	ListCell *cell;

	foreach_ptr (Node, node, from)
		join_tree_flatten(node, &items, &quals);
	foreach (cell, items)
	{
		Node *item = lfirst(cell);
		CutGroup *group = group_of_item(fit->cutting.query, item, quals);

		if (IsA(item, JoinExpr) && !fits(group))
		{
			Node *fitted = fit_outer_join(fit, (JoinExpr *) item, quals);

			if (fitted == NULL)
				return NULL;
			lfirst(cell) = fitted;
			quals = cutting_not_consumed(&fit->cutting,
										 list_copy_tail(quals, list_length(above)));
			return (Node *) makeFromExpr(items, quals_as_node(quals));
		}
		groups = lappend(groups, group);
	}
	groups = groups_merge(fit->cutting.query, groups, quals);
	if (list_length(groups) <= 1 && (groups == NIL || fits(linitial(groups))))
		return (Node *) makeFromExpr(items, NULL);
	choice = move_of_inner_join(fit->cutting.query, groups, quals);
	if (choice.cost < 0)
		return NULL;
	items = items_after(fit, items, &choice, quals);
	rest = cutting_not_consumed(&fit->cutting, list_copy_tail(quals, list_length(above)));
	for (int i = 0; i < choice.nmoves; i++)
		rest = quals_after(&choice.moves[i], quals, rest);
	return (Node *) makeFromExpr(items, quals_as_node(rest));
}

/* ------------------------------------------------------------------------------------
 * The level.
 */

static bool
from_fits(Query *query)
{
	Query *part = part_make(query, query->jointree->fromlist, NIL);
	Distribution distribution;

	foreach_ptr (Node, qual, quals_flat(query->jointree->quals))
	{
		if (!checkExprHasSubLink(qual))
			part->jointree->quals = make_and_qual(part->jointree->quals, qual);
	}
	distribution = distribution_of_query(part);
	return distribution_has_shards(&distribution);
}

/* Rows are locked where they are, and by who reads them for the client. */
static bool
locks_rows(Query *query)
{
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		if (rte->rtekind == RTE_SUBQUERY &&
			(rte->subquery->rowMarks != NIL || rte->subquery->hasForUpdate))
			return true;
	}
	return query->rowMarks != NIL;
}

/* Subqueries in FROM may fit when theirs do. */
static bool
exchange_subqueries(Query *query)
{
	Relids used = compat_relids_in_jointree((Node *) query->jointree, false);
	bool changed = false;
	Index varno = 0;

	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		int mark = results_mark();
		Distribution distribution;
		Query *copy;

		varno++;
		if (rte->rtekind != RTE_SUBQUERY || !bms_is_member(varno, used) ||
			query_refers_outside(rte->subquery))
			continue;
		distribution = distribution_of_query(rte->subquery);
		if (distribution.kind != DIST_COORDINATOR)
			continue;
		copy = copyObject(rte->subquery);
		level_keep_ctes(copy);
		level_push_down(copy);
		(void) level_decorrelate(copy);
		if (level_exchange(copy))
		{
			distribution = distribution_of_query(copy);
			if (distribution_has_shards(&distribution))
			{
				rte->subquery = copy;
				changed = true;
				continue;
			}
		}
		results_forget(mark);
	}
	return changed;
}

/* Items may be joined, and filtered, by what others are said to equal. */
static void
add_implied(Query *query)
{
	List *items = NIL;
	List *quals = NIL;

	join_tree_flatten((Node *) query->jointree, &items, &quals);
	query->jointree->quals = quals_as_node(
		list_concat(quals_flat(query->jointree->quals), equalities_implied(quals)));
}

bool
level_exchange(Query *query)
{
	Query *work;
	int mark = results_mark();
	int moves = 0;
	int limit;
	bool inside;

	/* What moves is a plan of its own, that knows no row of an outer level. */
	if (query->setOperations != NULL || query->jointree->fromlist == NIL ||
		locks_rows(query) || level_uses_records(query) || query_refers_outside(query) ||
		from_fits(query))
		return false;
	work = copyObject(query);
	add_implied(work);
	inside = exchange_subqueries(work);
	limit = list_length(query->rtable);
	while (!from_fits(work))
	{
		Fit fit = {0};
		Node *tree;

		cutting_start(&fit.cutting, work);
		tree = fit_from(&fit, list_make1(work->jointree), NIL);
		if (tree == NULL || !fit.moved || moves > limit ||
			!level_group_by_determined(work))
		{
			results_forget(mark);
			return false;
		}
		cutting_finish(&fit.cutting, tree);
		join_tree_renew(work);
		moves++;
	}
	exchange_plan_all(work);
	*query = *work;
	level_drop_unused_ctes(query);
	return moves > 0 || inside;
}

/* ------------------------------------------------------------------------------------
 * What a correlated level joins.
 */

/* All items of the level as one group; its qualifications are not among the group's. */
static CutGroup *
group_of_all(Query *query, List *items)
{
	CutGroup *group = palloc0(sizeof(CutGroup));

	group->items = items;
	group->relids = compat_relids_in_jointree((Node *) query->jointree, false);
	return group;
}

/* Do fewer bytes come here if the items are joined before than if each comes by itself?
 */
static bool
join_is_smaller(Query *query, List *items, List *quals)
{
	List *groups = NIL;
	double apart = 0;

	foreach_ptr (Node, item, items)
		groups = lappend(groups, group_of_item(query, item, quals));
	groups = groups_merge(query, groups, quals);
	foreach_ptr (CutGroup, group, groups)
	{
		if (!fits(group))
			return false;
		apart += group_bytes(query, group, quals);
	}
	return list_length(groups) > 1 &&
		   group_bytes(query, group_of_all(query, items), quals) < apart;
}

static RangeTblEntry *
subquery_of_cut(Cut *cut)
{
	if (cut->part->targetList == NIL)
		part_column(cut->part, (Node *) makeBoolConst(true, false), "row");
	return rte_of_query("joined", cut->part);
}

/* The level's items and what their qualifications say of them alone, as a subquery in
 * their place. */
static Query *
put_join_apart(Query *query, List *items, List *quals)
{
	Cutting cutting = {0};
	Node *ref;
	Cut *cut;

	cutting_start(&cutting, query);
	ref = cutting_cut(&cutting, group_of_all(query, items), quals);
	cut = linitial(cutting.cuts);
	cut->replace = subquery_of_cut;
	cutting_finish(&cutting, (Node *) makeFromExpr(
								 list_make1(ref),
								 quals_as_node(cutting_not_consumed(&cutting, quals))));
	return rt_fetch(cut->varno, query->rtable)->subquery;
}

bool
level_exchange_joined(Query *query)
{
	int mark = results_mark();
	List *items = NIL;
	List *quals = NIL;
	Distribution distribution;
	Query *work;
	Query *joined;

	if (query->setOperations != NULL || !query_refers_outside(query) ||
		locks_rows(query) || level_has_row_security(query) || level_uses_records(query))
		return false;
	work = copyObject(query);
	join_tree_flatten((Node *) work->jointree, &items, &quals);
	foreach_ptr (Node, item, items)
	{
		if (query_refers_outside(part_make(work, list_make1(item), NIL)))
			return false;
	}
	if (!join_is_smaller(work, items, quals))
		return false;
	joined = put_join_apart(work, items, quals);
	if (level_exchange(joined))
	{
		distribution = distribution_of_query(joined);
		if (distribution_has_shards(&distribution))
		{
			*query = *work;
			return true;
		}
	}
	results_forget(mark);
	return false;
}
