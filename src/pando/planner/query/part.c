/*
 * part.c: parts of a query level as queries of their own.
 *
 * A part keeps the range table numbers of the level that it comes from, so that
 * expressions can be copied as they are; entries that it doesn't use are emptied.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/prep.h"
#include "pando/planner/query/cte_use.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/part.h"
#include "parser/parsetree.h"
#include "pando/transaction/access.h"
#include "rewrite/rewriteManip.h"

static void
add_name(RangeTblEntry *rte, int depth, void *context)
{
	List **names = context;

	*names = list_append_unique(*names, makeString(rte->ctename));
}

/* The WITH queries that the part needs, with those that they need. */
static void
take_ctes(Query *part, Query *query)
{
	List *names = NIL; /* String */
	int looked_at = 0;
	ListCell *cell;

	if (query->cteList == NIL)
		return;
	cte_each_use(part, NULL, add_name, &names);
	while (looked_at < list_length(names))
	{
		char *name = strVal(list_nth(names, looked_at++));

		foreach (cell, query->cteList)
		{
			CommonTableExpr *cte = lfirst(cell);

			if (strcmp(cte->ctename, name) == 0)
				cte_each_use_in(cte->ctequery, NULL, add_name, &names);
		}
	}
	/* In the order of the query: later ones may refer to earlier ones. */
	foreach (cell, query->cteList)
	{
		CommonTableExpr *cte = lfirst(cell);

		if (!list_member(names, makeString(cte->ctename)))
			continue;
		part->cteList = lappend(part->cteList, copyObject(cte));
		part->hasRecursive = part->hasRecursive || cte->cterecursive;
		part->hasModifyingCTE =
			part->hasModifyingCTE || ((Query *) cte->ctequery)->commandType != CMD_SELECT;
	}
}

/* Adds the items under the node that an outer join in it, or above, may leave out. */
static Relids
items_left_out(Node *node, bool left_out, Relids found)
{
	const JoinExpr *join = (JoinExpr *) node;
	bool left;
	bool right;

	if (IsA(node, RangeTblRef))
		return left_out ? bms_add_member(found, ((RangeTblRef *) node)->rtindex) : found;
	if (IsA(node, FromExpr))
	{
		foreach_ptr (Node, item, ((FromExpr *) node)->fromlist)
			found = items_left_out(item, left_out, found);
		return found;
	}
	left = join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL;
	right = join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL;
	found = items_left_out(join->larg, left_out || left, found);
	return items_left_out(join->rarg, left_out || right, found);
}

Query *
part_make(Query *query, List *items, List *quals)
{
	Query *part = query_new();
	Relids relids = NULL;
	Relids left_out = NULL;
	Index varno = 0;
	ListCell *cell;

	foreach (cell, items)
	{
		relids = bms_add_members(relids, compat_relids_in_jointree(lfirst(cell), true));
		left_out = items_left_out(lfirst(cell), false, left_out);
	}
	quals = copyObject(quals);
	foreach (cell, query->rtable)
	{
		RangeTblEntry *rte;

		varno++;
		rte = bms_is_member(varno, relids) ? copyObject(lfirst(cell)) : unused_rte();
		/*
		 * The node applies the policies of the role whose rights it is told to use. It
		 * applies those of the client as well; above an outer join, which may leave the
		 * table's rows out, they would be conditions of the join's rows.
		 */
		if (access_is_lent(rte) || bms_is_member(varno, left_out))
			rte->securityQuals = NIL;
		quals = list_concat(rte->securityQuals, quals);
		rte->securityQuals = NIL;
		part->rtable = lappend(part->rtable, rte);
	}
	part->hasRowSecurity = query->hasRowSecurity;
	part->jointree = makeFromExpr(copyObject(items), quals_as_node(quals));
	part->hasSubLinks = checkExprHasSubLink((Node *) part);
	/* Rows that are to be locked by the residual must not go into a fragment. */
	foreach_ptr (RowMarkClause, mark, query->rowMarks)
	{
		if (bms_is_member(mark->rti, relids))
			part->rowMarks = lappend(part->rowMarks, mark);
	}
	take_ctes(part, query);
	return part;
}

int
part_add_column(Query *part, Node *expr, const char *name)
{
	TargetEntry *entry =
		makeTargetEntry(copyObject((Expr *) expr), list_length(part->targetList) + 1,
						pstrdup(name), false);

	part->targetList = lappend(part->targetList, entry);
	if (!part->hasSubLinks)
		part->hasSubLinks = checkExprHasSubLink(expr);
	return entry->resno;
}

int
part_column(Query *part, Node *expr, const char *name)
{
	foreach_ptr (TargetEntry, entry, part->targetList)
	{
		if (equal(entry->expr, expr))
			return entry->resno;
	}
	return part_add_column(part, expr, name);
}

void
level_become_scan(Query *query, RangeTblEntry *fragment)
{
	ListCell *cell;

	foreach (cell, query->targetList)
	{
		TargetEntry *entry = lfirst(cell);
		Node *expr = (Node *) entry->expr;

		entry->expr = (Expr *) makeVar(1, entry->resno, exprType(expr), exprTypmod(expr),
									   exprCollation(expr), 0);
	}
	level_clear(query, LEVEL_FROM | LEVEL_ROWS);
	query->rtable = list_make1(fragment);
	query->jointree = from_one(1);
	query->hasSubLinks =
		checkExprHasSubLink(query->limitCount) || checkExprHasSubLink(query->limitOffset);
}
