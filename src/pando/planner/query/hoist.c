/*
 * hoist.c: the order that a level inherits from its only subquery.
 *
 * `SELECT * FROM (SELECT ... ORDER BY x) s LIMIT 10` has no order of its own, but
 * PostgreSQL's plan keeps the subquery's, and people rely on that. Rows that come from
 * several nodes keep no order; so the level asks for it: ORDER BY s.x, and the subquery,
 * unless it needs the order itself, has none. That also lets LIMIT reach the tasks.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parsetree.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/hoist.h"

/* The subquery that all rows come from, one by one; or NULL. */
static RangeTblEntry *
only_subquery(Query *query, Index *varno)
{
	RangeTblRef *ref;
	RangeTblEntry *rte;

	if (query->commandType != CMD_SELECT || query->sortClause != NIL || query->hasAggs ||
		query->groupClause != NIL || query->groupingSets != NIL ||
		query->hasWindowFuncs || query->distinctClause != NIL || query->hasTargetSRFs ||
		query->setOperations != NULL || query->rowMarks != NIL ||
		list_length(query->jointree->fromlist) != 1)
		return NULL;
	ref = linitial(query->jointree->fromlist);
	if (!IsA(ref, RangeTblRef))
		return NULL;
	*varno = ref->rtindex;
	rte = rt_fetch(ref->rtindex, query->rtable);
	return rte->rtekind == RTE_SUBQUERY ? rte : NULL;
}

static bool
sorts_by_hidden(Query *query)
{
	foreach_ptr (SortGroupClause, sort, query->sortClause)
	{
		if (get_sortgroupclause_tle(sort, query->targetList)->resjunk)
			return true;
	}
	return false;
}

/* All that is only sorted or grouped by becomes a column, but no part of whole rows. */
static void
show_columns(RangeTblEntry *rte)
{
	foreach_ptr (TargetEntry, entry, rte->subquery->targetList)
	{
		if (!entry->resjunk)
			continue;
		entry->resjunk = false;
		if (entry->resname == NULL)
			entry->resname = psprintf("order%d", entry->resno);
		rte->eref->colnames =
			lappend(rte->eref->colnames, makeString(pstrdup(entry->resname)));
	}
}

/* Sorts the level by a column of the subquery. */
static void
sort_by(Query *query, Index varno, const TargetEntry *column, const SortGroupClause *as)
{
	Node *expr = (Node *) column->expr;
	Var *var = makeVar(varno, column->resno, exprType(expr), exprTypmod(expr),
					   exprCollation(expr), 0);
	TargetEntry *entry = tlist_member((Expr *) var, query->targetList);
	SortGroupClause *sort = copyObject(unconstify(SortGroupClause *, as));

	if (entry == NULL)
	{
		entry =
			makeTargetEntry((Expr *) var, list_length(query->targetList) + 1, NULL, true);
		query->targetList = lappend(query->targetList, entry);
	}
	sort->tleSortGroupRef = assignSortGroupRef(entry, query->targetList);
	query->sortClause = lappend(query->sortClause, sort);
}

bool
level_hoist_order(Query *query)
{
	Index varno;
	RangeTblEntry *rte = only_subquery(query, &varno);
	Query *inner;

	if (rte == NULL)
		return false;
	inner = rte->subquery;
	level_hoist_order(inner);
	if (inner->sortClause == NIL || inner->rowMarks != NIL)
		return false;
	if (sorts_by_hidden(inner))
	{
		level_fix_whole_rows(query, varno);
		rte = rt_fetch(varno, query->rtable);
		inner = rte->subquery;
		show_columns(rte);
	}
	foreach_ptr (SortGroupClause, by, inner->sortClause)
	{
		sort_by(query, varno, get_sortgroupclause_tle(by, inner->targetList), by);
	}
	if (inner->limitCount == NULL && inner->limitOffset == NULL && !inner->hasDistinctOn)
		inner->sortClause = NIL;
	return true;
}
