/*
 * from_item.c: FROM items that the planner writes itself.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "pando/planner/query/from_item.h"
#include "pando/planner/query/level_fields.h"

char *
column_name_or_gone(const char *name, AttrNumber number)
{
	return name[0] != '\0' ? pstrdup(name)
						   : psprintf("........pg.dropped.%d........", number);
}

bool
rte_name_all_columns(RangeTblEntry *rte)
{
	AttrNumber number = 0;
	bool gaps = false;
	ListCell *cell;

	rte->eref = copyObject(rte->eref);
	foreach (cell, rte->eref->colnames)
	{
		const char *name = strVal(lfirst(cell));

		gaps |= name[0] == '\0';
		lfirst(cell) = makeString(column_name_or_gone(name, ++number));
	}
	if (rte->alias != NULL)
		rte->alias = makeAlias(rte->alias->aliasname, NIL);
	return gaps;
}

void
rte_become(RangeTblEntry *rte, RTEKind kind)
{
	bool was_table = rte->rtekind == RTE_RELATION && OidIsValid(rte->relid);

	entry_clear(rte, ENTRY_SOURCE | ENTRY_ROWS | ENTRY_RIGHTS);
	rte->rtekind = kind;
	if (was_table)
		rte_name_all_columns(rte);
}

void
rte_become_subquery(RangeTblEntry *rte, Query *query)
{
	rte_become(rte, RTE_SUBQUERY);
	rte->subquery = query;
}

RangeTblEntry *
rte_new(RTEKind kind, const char *name, List *columns)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = kind;
	rte->eref = makeAlias(name, columns);
	rte->inFromCl = true;
	return rte;
}

RangeTblEntry *
rte_of_query(const char *name, Query *query)
{
	RangeTblEntry *rte = rte_of_output(name, query);

	rte_become_subquery(rte, query);
	return rte;
}

RangeTblEntry *
level_add_query(Query *level, const char *name, Query *query)
{
	RangeTblEntry *rte = rte_of_query(name, query);
	RangeTblRef *ref = makeNode(RangeTblRef);

	rte->alias = makeAlias(name, NIL);
	level->rtable = lappend(level->rtable, rte);
	ref->rtindex = list_length(level->rtable);
	level->jointree->fromlist = lappend(level->jointree->fromlist, ref);
	return rte;
}

FromExpr *
from_one(Index varno)
{
	RangeTblRef *ref = makeNode(RangeTblRef);

	ref->rtindex = varno;
	return makeFromExpr(list_make1(ref), NULL);
}

Query *
query_from_rte(RangeTblEntry *rte)
{
	Query *query = query_new();

	query->rtable = list_make1(rte);
	query->jointree = from_one(1);
	return query;
}

static List *
output_of(Query *query)
{
	return query->commandType == CMD_SELECT ? query->targetList : query->returningList;
}

RangeTblEntry *
rte_of_output(const char *name, Query *query)
{
	RangeTblEntry *rte = rte_new(RTE_RESULT, name, NIL);

	foreach_ptr (TargetEntry, entry, output_of(query))
	{
		Node *expr = (Node *) entry->expr;

		if (entry->resjunk)
			continue;
		rte->coltypes = lappend_oid(rte->coltypes, exprType(expr));
		rte->coltypmods = lappend_int(rte->coltypmods, exprTypmod(expr));
		rte->colcollations = lappend_oid(rte->colcollations, exprCollation(expr));
		rte->eref->colnames =
			lappend(rte->eref->colnames,
					makeString(pstrdup(entry->resname ? entry->resname : "column")));
	}
	return rte;
}

RangeTblEntry *
rte_of_cte(CommonTableExpr *cte, Index up)
{
	RangeTblEntry *rte = rte_of_output(cte->ctename, (Query *) cte->ctequery);

	/* With the columns of SEARCH and CYCLE. */
	if (cte->ctecolnames != NIL)
	{
		rte->eref->colnames = copyObject(cte->ctecolnames);
		rte->coltypes = list_copy(cte->ctecoltypes);
		rte->coltypmods = list_copy(cte->ctecoltypmods);
		rte->colcollations = list_copy(cte->ctecolcollations);
	}
	rte->rtekind = RTE_CTE;
	rte->ctename = cte->ctename;
	rte->ctelevelsup = up;
	return rte;
}

Query *
query_of_columns(RangeTblEntry *rte)
{
	Query *query = query_from_rte(rte);
	ListCell *name;
	ListCell *type;
	ListCell *typmod;
	ListCell *collation;

	forfour(name, rte->eref->colnames, type, rte->coltypes, typmod, rte->coltypmods,
			collation, rte->colcollations)
	{
		AttrNumber number = list_length(query->targetList) + 1;
		Var *var = makeVar(1, number, lfirst_oid(type), lfirst_int(typmod),
						   lfirst_oid(collation), 0);

		query->targetList = lappend(
			query->targetList,
			makeTargetEntry((Expr *) var, number, pstrdup(strVal(lfirst(name))), false));
	}
	return query;
}

Var *
query_column(Index varno, const Query *query, int number)
{
	return makeVarFromTargetEntry(varno, list_nth(query->targetList, number - 1));
}

RangeTblEntry *
unused_rte(void)
{
	RangeTblEntry *rte = rte_new(RTE_RESULT, "unused", NIL);

	rte->inFromCl = false;
	return rte;
}

Query *
query_over_query(Query *query, const char *name)
{
	/* Types of columns are the output's; a subquery's item has none. */
	Query *over = query_of_columns(rte_of_output(name, query));

	rte_become_subquery(linitial(over->rtable), query);
	return over;
}
