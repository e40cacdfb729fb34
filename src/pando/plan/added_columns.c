/*
 * added_columns.c: columns that views got after the query that reads them was parsed.
 *
 * CREATE OR REPLACE VIEW adds columns. Where the view is read by another one, the
 * rewriter makes up names ("?column?") for them in the range table, but the joins above
 * were parsed without, and the deparser takes each named column for one that a join has.
 */
#include "pando/compat/compat.h"

#include "nodes/bitmapset.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"

#include "pando/plan/added_columns.h"

typedef struct Uses
{
	Index varno;
	Index up;
	AttrNumber last; /* column that is referred to */
} Uses;

static bool
uses_walker(Node *node, Uses *uses)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		uses->up++;
		query_tree_walker((Query *) node, uses_walker, uses, 0);
		uses->up--;
		return false;
	}
	if (IsA(node, Var) && ((Var *) node)->varno == uses->varno &&
		((Var *) node)->varlevelsup == uses->up)
		uses->last = Max(uses->last, ((Var *) node)->varattno);
	return expression_tree_walker(node, uses_walker, uses);
}

static bool
has_made_up_name(const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_SUBQUERY && rte->eref->colnames != NIL &&
		   strcmp(strVal(llast(rte->eref->colnames)), "?column?") == 0;
}

/* Adds the entries of the range table that are below a join. */
static Bitmapset *
joined(Node *item, bool below, Bitmapset *found)
{
	if (IsA(item, RangeTblRef))
		return below ? bms_add_member(found, ((RangeTblRef *) item)->rtindex) : found;
	if (IsA(item, JoinExpr))
		return joined(((JoinExpr *) item)->rarg, true,
					  joined(((JoinExpr *) item)->larg, true, found));
	foreach_ptr (Node, child, ((FromExpr *) item)->fromlist)
		found = joined(child, below, found);
	return found;
}

void
added_columns_forget(Query *query)
{
	Bitmapset *entries = joined((Node *) query->jointree, false, NULL);
	Uses uses = {0};

	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		uses.varno++;
		uses.last = 0;
		if (!bms_is_member(uses.varno, entries) || !has_made_up_name(rte))
			continue;
		query_tree_walker(query, uses_walker, &uses, 0);
		while (has_made_up_name(rte) && list_length(rte->eref->colnames) > uses.last)
			rte->eref->colnames =
				list_truncate(rte->eref->colnames, list_length(rte->eref->colnames) - 1);
	}
}
