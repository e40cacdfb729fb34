/*
 * join_tree.c: inner joins taken apart.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "pando/planner/join_tree.h"

/* Nested AND lists as one; a copy of the list, not of the expressions. */
List *
quals_flat(Node *quals)
{
	List *result = NIL;
	ListCell *cell;

	if (quals == NULL)
		return NIL;
	if (IsA(quals, List))
	{
		foreach (cell, (List *) quals)
			result = list_concat(result, quals_flat(lfirst(cell)));
		return result;
	}
	if (is_andclause(quals))
		return quals_flat((Node *) ((BoolExpr *) quals)->args);
	return list_make1(quals);
}

/* The type of an outer join, given what the qualifications above it refuse. */
JoinType
join_type_reduced(JoinExpr *join, List *quals)
{
	Relids refused = find_nonnullable_rels((Node *) quals);
	bool left = bms_overlap(refused, get_relids_in_jointree(join->larg, false));
	bool right = bms_overlap(refused, get_relids_in_jointree(join->rarg, false));

	switch (join->jointype)
	{
		case JOIN_LEFT:
			return right ? JOIN_INNER : JOIN_LEFT;
		case JOIN_RIGHT:
			return left ? JOIN_INNER : JOIN_RIGHT;
		case JOIN_FULL:
			if (left && right)
				return JOIN_INNER;
			return left ? JOIN_LEFT : right ? JOIN_RIGHT : JOIN_FULL;
		default:
			return join->jointype;
	}
}

/*
 * Takes nested inner joins apart: items are relations and outer joins, quals all the
 * AND-ed qualifications that hold for the rows.
 */
void
join_tree_flatten(Node *node, List **items, List **quals)
{
	if (IsA(node, JoinExpr))
	{
		JoinExpr *join = (JoinExpr *) node;

		if (join_type_reduced(join, *quals) == JOIN_INNER)
		{
			*quals = list_concat(*quals, quals_flat(join->quals));
			join_tree_flatten(join->larg, items, quals);
			join_tree_flatten(join->rarg, items, quals);
			return;
		}
	}
	else if (IsA(node, FromExpr))
	{
		ListCell *cell;

		*quals = list_concat(*quals, quals_flat(((FromExpr *) node)->quals));
		foreach (cell, ((FromExpr *) node)->fromlist)
			join_tree_flatten(lfirst(cell), items, quals);
		return;
	}
	*items = lappend(*items, node);
}
