/*
 * local.c: reading this node's own copies of reference tables as plain tables.
 *
 * A query whose distributed tables are all reference tables is PostgreSQL's: the relation
 * OIDs are swapped for those of the copies here and standard_planner does the rest. The
 * copy's columns must have the shell table's numbers; after a column was dropped on one
 * before the other existed they don't, and then the statement goes the way of text.
 *
 * The shell tables stay in the plan for permission checks and locks. The parser took
 * locks on them; the copies are locked here.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "access/transam.h"
#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pando/base/name.h"
#include "pando/metadata/node.h"
#include "pando/planner/local.h"

static bool relations_walker(Node *node, DistRelations *found);

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
		found->modified = true;
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

static void
look_at_query(Query *query, DistRelations *found)
{
	int rtindex = 0;

	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		rtindex++;
		if (rte->rtekind == RTE_RELATION)
			look_at_relation(rte, rtindex == query->resultRelation, found);
		else if (rte->rtekind == RTE_SUBQUERY)
			look_at_query(rte->subquery, found);
		else if (rte->rtekind == RTE_FUNCTION)
			look_at_functions(rte, found);
	}
	foreach_ptr (CommonTableExpr, cte, query->cteList)
	{
		found->with_queries = true;
		look_at_query((Query *) cte->ctequery, found);
	}
	/* Only sublinks can hide more relations in expressions. */
	if (query->hasSubLinks)
		query_tree_walker(query, relations_walker, found,
						  QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES);
}

static bool
relations_walker(Node *node, DistRelations *found)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		look_at_query((Query *) node, found);
		return false;
	}
	return expression_tree_walker(node, relations_walker, found);
}

DistRelations
query_dist_relations(Query *query)
{
	DistRelations found = {0};

	look_at_query(query, &found);
	return found;
}

/* OID of this node's copy of a reference table; InvalidOid if there is none. */
static Oid
local_copy(const DistTable *table)
{
	const Shard *shard = &table->shards[0];
	int32 group = node_local_group();

	for (int i = 0; i < shard->nplacements; i++)
	{
		if (shard->placements[i].group == group)
			return get_relname_relid(name_shard(get_rel_name(table->relid), shard->id),
									 get_rel_namespace(table->relid));
	}
	return InvalidOid;
}

static bool
same_columns(Oid shell, Oid copy)
{
	Relation a = table_open(shell, NoLock);
	Relation b = table_open(copy, NoLock);
	TupleDesc da = RelationGetDescr(a);
	TupleDesc db = RelationGetDescr(b);
	bool same = da->natts == db->natts;

	for (int i = 0; same && i < da->natts; i++)
	{
		Form_pg_attribute x = TupleDescAttr(da, i);
		Form_pg_attribute y = TupleDescAttr(db, i);

		same = x->attisdropped == y->attisdropped && x->atttypid == y->atttypid &&
			   (x->attisdropped || strcmp(NameStr(x->attname), NameStr(y->attname)) == 0);
	}
	table_close(a, NoLock);
	table_close(b, NoLock);
	return same;
}

bool
first_copy_is_here(const DistTable *table)
{
	const Shard *shard = &table->shards[0];
	Oid copy;

	if (shard->nplacements == 0 || shard->placements[0].group != node_local_group())
		return false;
	copy = local_copy(table);
	if (!OidIsValid(copy))
		return false;
	LockRelationOid(copy, AccessShareLock);
	return same_columns(table->relid, copy);
}

static bool
use_local_copy(RangeTblEntry *rte)
{
	const DistTable *table;
	Oid copy;

	if (rte->rtekind != RTE_RELATION || rte->relid < FirstNormalObjectId)
		return true;
	table = dist_table(rte->relid);
	if (table == NULL || table->kind == TABLE_MANAGED_LOCAL)
		return true;
	if (table->kind != TABLE_REFERENCE)
		return false;
	copy = local_copy(table);
	if (!OidIsValid(copy))
		return false;
	LockRelationOid(copy, rte->rellockmode);
	if (!same_columns(rte->relid, copy))
		return false;

	if (rte->alias == NULL)
		rte->alias = makeAlias(rte->eref->aliasname, NIL);
	rte->relid = copy;
	/* Checked on the shell table, which is in the plan as well. */
	rte->requiredPerms = 0;
	return true;
}

static bool
use_copies_walker(Node *node, bool *all)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		if (!use_local_copy((RangeTblEntry *) node))
			*all = false;
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, use_copies_walker, all,
								 QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, use_copies_walker, all);
}

bool
query_use_local_copies(Query *query)
{
	bool all = true;

	use_copies_walker((Node *) query, &all);
	return all;
}
