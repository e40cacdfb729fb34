/*
 * relations.c: which distributed relations a statement has, and what is asked of them
 * all.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pando/metadata/table.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/where/relations.h"
#include "pando/planner/where/row_ctid.h"

static bool
has_rows_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) || IsA(node, SubLink))
		return true;
	return expression_tree_walker(node, has_rows_walker, context);
}

bool
sample_argument_varies(Node *argument)
{
	return !has_rows_walker(argument, NULL) && contain_volatile_functions(argument);
}

static bool
varies_walker(Node *node, void *context)
{
	return node != NULL && sample_argument_varies(node);
}

bool
sample_is_for_here(const RangeTblEntry *rte)
{
	return has_rows_walker((Node *) rte->tablesample, NULL) ||
		   expression_tree_walker((Node *) rte->tablesample, varies_walker, NULL);
}

bool
sample_argument_is_for_here(Node *argument)
{
	return has_rows_walker(argument, NULL) || sample_argument_varies(argument);
}

static void
look_at_relation(const RangeTblEntry *rte, bool target, DistRelations *found)
{
	const DistTable *table;

	/* System catalogs are never distributed. */
	if (rte->relid < FirstNormalObjectId)
		return;
	table = dist_table(rte->relid);
	if (table == NULL || table->kind == TABLE_MANAGED_LOCAL)
		return;
	found->any = true;
	if (dist_table_is_sharded(table))
		found->sharded = true;
	if (target)
	{
		found->modified = true;
		found->fires_here |= (table->fires_here | table->acts_here) != 0;
	}
	if (relation_place_is_used(rte, table))
		found->places = true;
	if (rte->tablesample != NULL && sample_is_for_here(rte))
		found->samples = true;
}

static void
look_at_functions(const RangeTblEntry *rte, DistRelations *found)
{
	foreach_ptr (RangeTblFunction, function, rte->functions)
	{
		FuncExpr *call = (FuncExpr *) function->funcexpr;
		HeapTuple tuple;

		if (!IsA(call, FuncExpr) || call->funcid < FirstNormalObjectId)
			continue;
		tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));
		if (!HeapTupleIsValid(tuple))
			continue;
		if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == SQLlanguageId)
			found->sql_functions = true;
		ReleaseSysCache(tuple);
	}
}

static bool
look_at_level(Query *level, void *context)
{
	DistRelations *found = context;
	int rtindex = 0;

	found->with_queries |= level->cteList != NIL;
	found->sublinks |= level->hasSubLinks;
	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		rtindex++;
		if (rte->rtekind == RTE_RELATION)
			look_at_relation(rte, rtindex == level->resultRelation, found);
		else if (rte->rtekind == RTE_FUNCTION)
			look_at_functions(rte, found);
	}
	return false;
}

DistRelations
query_dist_relations(Query *query)
{
	DistRelations found = {0};

	(void) query_each_level(query, look_at_level, &found);
	return found;
}
