/*
 * returning.c: RETURNING with what no shard can compute.
 *
 * The write returns the columns that RETURNING mentions, and a SELECT over those rows
 * computes it here.
 */
#include "pando/compat/compat.h"

#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "pando/metadata/table.h"
#include "pando/planner/write/write_rules.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/query/carried.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/whole_row.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/where/hazard.h"
#include "pando/planner/write/returning.h"
#include "pando/planner/write/triggered.h"

static bool
system_column_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno < 0;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, system_column_walker, context,
								 QTW_IGNORE_JOINALIASES);
	return expression_tree_walker(node, system_column_walker, context);
}

/*
 * Those of an INSERT's rows are known here; copies of a row might each give another. What
 * has changed has a new place, which a part of the statement would not find.
 */
static bool
sublinks_are_for_here(Query *query, const DistTable *target)
{
	if (query->commandType == CMD_INSERT)
		return true;
	return !system_column_walker((Node *) query->returningList, NULL) &&
		   (table_has_copies(target) ||
			distribution_of_query(query).kind == DIST_COORDINATOR);
}

bool
returning_is_computed_here(Query *query)
{
	Node *returning = (Node *) query->returningList;
	const DistTable *target;

	if (returning == NULL)
		return false;
	target = dist_table(rt_fetch(query->resultRelation, query->rtable)->relid);
	if (target == NULL || target->kind == TABLE_MANAGED_LOCAL)
		return false;
	if (checkExprHasSubLink(returning) &&
		(change_fires_here(query, target) || sublinks_are_for_here(query, target)))
		return true;
	if (table_has_copies(target) && expression_varies(returning))
		return true;
	return expression_hazard(
			   (Node *) query_with_rows_written_out(query)->returningList) != NULL;
}

/*
 * Rows of other FROM items than the target are written out. Where an outer join may leave
 * out one that is no table, nothing would tell.
 */
static void
write_out_items(Query *write)
{
	Bitmapset *items = NULL;

	foreach_ptr (Var, var, pull_vars_of_level((Node *) write->returningList, 0))
	{
		if (IsA(var, Var) && var->varattno == InvalidAttrNumber &&
			var->varno != write->resultRelation)
			items = bms_add_member(items, var->varno);
	}
	for (int varno = -1; (varno = bms_next_member(items, varno)) >= 0;)
	{
		if (rt_fetch(varno, write->rtable)->rtekind != RTE_RELATION &&
			join_tree_has_outer((Node *) write->jointree))
			ereport(
				ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("RETURNING a row of \"%s\", which an outer join may leave out, "
						"is not supported in a change of a distributed table",
						rt_fetch(varno, write->rtable)->eref->aliasname)));
		level_fix_whole_rows(write, varno);
	}
}

Query *
returning_split(Query *write, const char *name, CommonTableExpr **cte, Index up)
{
	Carried returned = {.varno = 1};
	List *returning;
	Query *select;

	/* Which action was taken, and which rows have no match, only the shards know. */
	if (write->commandType == CMD_MERGE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("RETURNING of this MERGE into table \"%s\" cannot be "
						"computed on its shards and is not supported yet",
						get_rel_name(
							rt_fetch(write->resultRelation, write->rtable)->relid))));
	write_out_items(write);
	returning = (List *) expression_with_shell_oids(
		(Node *) query_with_rows_written_out(write)->returningList, write);
	returning = (List *) carried_columns((Node *) returning, &returned);
	write->returningList = columns_of(returned.exprs);
	write->canSetTag = false;
	*cte = makeNode(CommonTableExpr);
	(*cte)->ctename = pstrdup(name);
	(*cte)->ctequery = (Node *) write;
	select = query_of_columns(rte_of_cte(*cte, up));
	select->targetList = returning;
	select->hasSubLinks = checkExprHasSubLink((Node *) select->targetList);
	return select;
}
