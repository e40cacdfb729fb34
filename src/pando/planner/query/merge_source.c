/*
 * merge_source.c: what a MERGE reads as one item of FROM.
 *
 * The condition of a MERGE says which rows of the source have a match, and is no filter
 * of them: whoever takes the source elsewhere takes it as it is, as a query of its own.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "pando/planner/query/carried.h"
#include "pando/planner/query/cte_use.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/query/merge_source.h"

/* Rows of items as values become rows of their columns. Where an outer join may leave out
 * one that is no table, nothing would tell. */
static void
write_out_items(Query *merge)
{
	List *parts = list_make2(merge->jointree->quals, merge->mergeActionList);
	Bitmapset *items = NULL;

	foreach_ptr (Var, var, pull_vars_of_level((Node *) parts, 0))
	{
		if (IsA(var, Var) && var->varattno == InvalidAttrNumber &&
			var->varno != merge->resultRelation)
			items = bms_add_member(items, var->varno);
	}
	for (int varno = -1; (varno = bms_next_member(items, varno)) >= 0;)
	{
		if (rt_fetch(varno, merge->rtable)->rtekind != RTE_RELATION &&
			join_tree_has_outer((Node *) merge->jointree))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a row of \"%s\", which an outer join may leave out, is not "
							"supported in a MERGE with distributed tables",
							rt_fetch(varno, merge->rtable)->eref->aliasname)));
		level_fix_whole_rows(merge, varno);
	}
}

static void
one_further(RangeTblEntry *rte, int depth, void *context)
{
	rte->ctelevelsup++;
}

RangeTblEntry *
merge_source_become_subquery(Query *merge)
{
	Carried rows = {.kept = merge->resultRelation};
	Query *source = query_new();
	RangeTblEntry *rte;
	int nitems;

	write_out_items(merge);
	nitems = list_length(merge->rtable);
	rows.varno = nitems + 1;
	source->rtable = list_copy(merge->rtable);
	lfirst(list_nth_cell(source->rtable, merge->resultRelation - 1)) = unused_rte();
	source->jointree = makeFromExpr(merge->jointree->fromlist, NULL);
	source->hasRowSecurity = merge->hasRowSecurity;
	merge->jointree->quals = carried_columns(merge->jointree->quals, &rows);
	merge->mergeActionList =
		(List *) carried_columns((Node *) merge->mergeActionList, &rows);
	source->targetList = columns_of(rows.exprs);
	source->hasSubLinks = checkExprHasSubLink((Node *) source);
	cte_each_use(source, NULL, one_further, NULL);

	for (int varno = 1; varno <= nitems; varno++)
	{
		if (varno != merge->resultRelation)
			lfirst(list_nth_cell(merge->rtable, varno - 1)) = unused_rte();
	}
	rte = rte_of_query("source", source);
	merge->rtable = lappend(merge->rtable, rte);
	merge->jointree->fromlist = from_one(rows.varno)->fromlist;
	return rte;
}
