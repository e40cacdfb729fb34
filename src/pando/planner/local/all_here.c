/*
 * all_here.c: queries whose shards are all on this node, planned by PostgreSQL.
 *
 * What needs several shard groups, or tables that don't fit together, is PostgreSQL's own
 * business as long as no other node is needed: each distributed table becomes a UNION ALL
 * of its shards here, which the core makes an Append. There are no tasks then, nothing is
 * exchanged, and nothing is computed more than once.
 */
#include "pando/compat/compat.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/rel.h"

#include "pando/compat/rights.h"
#include "pando/base/counter.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"
#include "pando/planner/fragment/plan_relations.h"
#include "pando/planner/fragment/planning.h"
#include "pando/planner/residual/decorrelate.h"
#include "pando/planner/residual/either_exists.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/local/all_here.h"
#include "pando/planner/local/subplan_cost.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/join_tree.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/where/copies_here.h"
#include "pando/planner/query/part.h"
#include "pando/planner/query/query_shape.h"
#include "pando/planner/query/union.h"

/* More shards than that take the core too long to plan. */
#define SHARDS_MAX 512

typedef struct AllHere
{
	bool possible;
	int depth;	/* of the level that is looked at; the query's own is 1 */
	int shards; /* put into the query so far */
} AllHere;

/* ------------------------------------------------------------------------------------
 * Which shards.
 */

/*
 * The filters of a level that concern the relation alone. `items`: what is inner-joined.
 * A filter above an outer join may want the rows that have no match in the relation.
 */
static List *
filters_of_relation(Index varno, List *items, List *quals)
{
	Relids self = bms_make_singleton(varno);
	bool inner = false;
	List *own = NIL;

	foreach_ptr (RangeTblRef, item, items)
		inner |= IsA(item, RangeTblRef) && item->rtindex == (int) varno;
	foreach_ptr (Node, qual, quals)
	{
		if (bms_equal(pull_varnos(NULL, qual), self) && !checkExprHasSubLink(qual) &&
			!expression_refers_outside(qual) &&
			(inner || bms_is_member(varno, find_nonnullable_rels(qual))))
			own = lappend(own, qual);
	}
	return own;
}

static Distribution
distribution_of_relation(Query *level, Index varno, List *filters)
{
	RangeTblRef *ref = makeNode(RangeTblRef);

	ref->rtindex = varno;
	return distribution_of_query(part_make(level, list_make1(ref), filters));
}

/* Indexes of the table's shards that its filters leave; false: a parameter decides. */
static bool
shards_needed(const DistTable *table, Query *level, Index varno, List *filters,
			  Bitmapset **needed)
{
	Distribution distribution = {0};

	*needed = NULL;
	if (AttributeNumberIsValid(table->key))
		distribution = distribution_of_relation(level, varno, filters);
	if (!distribution.pruned)
	{
		*needed = bms_add_range(NULL, 0, table->nshards - 1);
		return true;
	}
	foreach_ptr (Const, key, distribution.keys)
	{
		if (!IsA(key, Const))
			return false;
		*needed = bms_add_member(
			*needed, shard_index_of_value(table, key->constvalue, key->constisnull));
	}
	return true;
}

/* Is the shard here, and nowhere else? */
static bool
is_only_here(const DistTable *table, int index)
{
	return table->shards[index].nplacements == 1 && shard_is_local(table, index);
}

/* ------------------------------------------------------------------------------------
 * A table's shards as one.
 */

/* SELECT all columns FROM shard */
static Query *
query_of_shard(Oid relid, const RangeTblEntry *like)
{
	RangeTblEntry *rte =
		rte_new(RTE_RELATION, like->eref->aliasname, copyObject(like->eref->colnames));
	Query *query = query_from_rte(rte);
	Relation relation = table_open(relid, NoLock);
	TupleDesc desc = RelationGetDescr(relation);

	rte->relid = relid;
	rte->relkind = relation->rd_rel->relkind;
	rte->rellockmode = like->rellockmode;
	rte->inh = true;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Node *column = att->attisdropped
						   ? (Node *) makeNullConst(INT4OID, -1, InvalidOid)
						   : (Node *) makeVar(1, att->attnum, att->atttypid,
											  att->atttypmod, att->attcollation, 0);

		query->targetList = lappend(
			query->targetList, makeTargetEntry((Expr *) column, i + 1,
											   pstrdup(NameStr(att->attname)), false));
	}
	table_close(relation, NoLock);
	return query;
}

static bool
use_shards(RangeTblEntry *rte, const DistTable *table, const Bitmapset *needed)
{
	List *queries = NIL;
	int index = -1;

	if (bms_is_empty(needed)) /* a table without shards */
		return false;
	while ((index = bms_next_member(needed, index)) >= 0)
	{
		Oid relid = is_only_here(table, index)
						? shard_local_table(table, index, rte->rellockmode)
						: InvalidOid;

		if (!OidIsValid(relid))
			return false;
		queries = lappend(queries, query_of_shard(relid, rte));
	}
	if (rte->alias == NULL)
		rte->alias = makeAlias(rte->eref->aliasname, NIL);
	if (list_length(queries) == 1)
	{
		Query *only = linitial(queries);

		rte->relid = linitial_node(RangeTblEntry, only->rtable)->relid;
		/* Checked on the shell table, which is in the plan as well. */
		entry_rights_to_set(rte)->requiredPerms = 0;
		return true;
	}
	/*
	 * In a query of its own: for each shard that the core pulls up it walks all of the
	 * query that it pulls it into, the shards of the other tables with it.
	 */
	rte_become_subquery(
		rte, query_over_query(query_union(queries, true), rte->eref->aliasname));
	return true;
}

/* ------------------------------------------------------------------------------------
 * A subquery that groups by the key, shard group by shard group.
 */

typedef struct Mentions
{
	bool others; /* tables that are not distributed by hash */
	int count;
} Mentions;

static bool
count_mentions(Query *level, void *context)
{
	Mentions *mentions = context;

	mentions->count += list_length(level->rtable);
	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		const DistTable *table =
			rte->rtekind == RTE_RELATION ? dist_table(rte->relid) : NULL;

		mentions->others |=
			rte->rtekind == RTE_RELATION &&
			(table == NULL || table->kind != TABLE_HASH || rte->securityQuals != NIL);
	}
	return mentions->others;
}

/*
 * Groups of one shard group are fewer, and fit into memory where all together don't. What
 * each would read in full speaks against it.
 */
static bool
use_shard_groups(AllHere *all, Query *query)
{
	Distribution distribution;
	Mentions mentions = {0};
	const DistTable *anchor;
	List *queries = NIL;

	if (all->depth == 1 || (query->groupClause == NIL && query->distinctClause == NIL) ||
		query_refers_outside(query))
		return false;
	if (query_each_level(query, count_mentions, &mentions))
		return false;
	distribution = distribution_of_query(query);
	if (distribution.kind != DIST_SHARDED || distribution.pruned)
		return false;
	anchor = dist_table_require(distribution.anchor);
	if (anchor->nshards < 2 ||
		all->shards + anchor->nshards * mentions.count > SHARDS_MAX)
		return false;
	for (int i = 0; i < anchor->nshards; i++)
	{
		Query *copy = copyObject(query);

		if (!is_only_here(anchor, i) || !query_use_local_shards(copy, anchor, i))
			return false;
		queries = lappend(queries, copy);
	}
	all->shards += anchor->nshards * mentions.count;
	*query = *query_union(queries, true);
	return true;
}

/* ------------------------------------------------------------------------------------
 * The walk over levels.
 */

static void
use_relation(AllHere *all, Query *level, Index varno, List *filters)
{
	RangeTblEntry *rte = rt_fetch(varno, level->rtable);
	const DistTable *table = dist_table(rte->relid);
	Bitmapset *needed;

	if (table == NULL || table->kind == TABLE_MANAGED_LOCAL)
		return;
	if (rte->tablesample != NULL || rte->securityQuals != NIL || !rte->inh)
		all->possible = false;
	else if (table->kind == TABLE_REFERENCE)
	{
		Oid relid = shard_is_local(table, 0)
						? shard_local_table(table, 0, rte->rellockmode)
						: InvalidOid;

		if (!OidIsValid(relid))
		{
			all->possible = false;
			return;
		}
		if (rte->alias == NULL)
			rte->alias = makeAlias(rte->eref->aliasname, NIL);
		rte->relid = relid;
		entry_rights_to_set(rte)->requiredPerms = 0;
	}
	else if (!shards_needed(table, level, varno, filters, &needed))
		all->possible = false;
	else
	{
		all->shards += bms_num_members(needed);
		if (all->shards > SHARDS_MAX || !use_shards(rte, table, needed))
			all->possible = false;
	}
}

static bool
all_here_walker(Node *node, void *context)
{
	AllHere *all = context;

	if (node == NULL || !all->possible)
		return false;
	if (IsA(node, Var))
	{
		/* Of the whole row or of the system: the shard's are not the table's. */
		if (((Var *) node)->varattno <= 0)
			all->possible = false;
		return false;
	}
	if (IsA(node, Query))
	{
		Query *query = (Query *) node;
		List *items = NIL;
		List *quals = NIL;
		Index varno = 0;

		if (query->commandType != CMD_SELECT || query->rowMarks != NIL)
		{
			all->possible = false;
			return false;
		}
		all->depth++;
		if (use_shard_groups(all, query))
		{
			all->depth--;
			return false;
		}
		/* First what is inside: shards are no levels of the query. */
		query_tree_walker(query, all_here_walker, context, 0);
		all->depth--;
		foreach_ptr (Node, item, query->jointree->fromlist)
			join_tree_flatten(item, &items, &quals);
		quals = list_concat(quals, quals_flat(query->jointree->quals));
		foreach_ptr (RangeTblEntry, rte, query->rtable)
		{
			varno++;
			if (rte->rtekind == RTE_RELATION && all->possible)
				use_relation(all, query, varno, filters_of_relation(varno, items, quals));
		}
		return false;
	}
	return expression_tree_walker(node, all_here_walker, context);
}

/* Cheap, so that a query over other nodes' shards is not even copied. */
static bool
query_may_be_all_here(const Query *query)
{
	foreach_ptr (RangeTblEntry, rte, query->rtable)
	{
		const DistTable *table =
			rte->rtekind == RTE_RELATION ? dist_table(rte->relid) : NULL;

		if (table != NULL && dist_table_is_sharded(table) && table->nshards > 0 &&
			!is_only_here(table, 0))
			return false;
	}
	return true;
}

/*
 * Puts this node's tables in the place of all distributed ones, in place: a shard, or the
 * UNION ALL of those that the query's filters leave. False if a shard that is needed is
 * not only here, or something in the query tells a shard from its table; the query must
 * not be used then.
 */
static bool
query_use_all_here(Query *query)
{
	AllHere all = {.possible = true};

	(void) all_here_walker((Node *) query, &all);
	return all.possible;
}

/* The plan with correlated aggregates joined; NULL: there are none, or not all is here.
 */
static PlannedStmt *
plan_joined(Query *query, bool lookups, const char *source, int cursor_options,
			ParamListInfo params)
{
	Query *joined = copyObject(query);

	return query_join_aggregates(joined, lookups) && query_use_all_here(joined)
			   ? plan_locally(joined, source, cursor_options, params)
			   : NULL;
}

/*
 * An index on another column than the key is one for each shard: a correlated aggregate
 * that looks its rows up there looks as often as there are shards. Looked up once for
 * each value, or computed for all values at once, it may be cheaper; PostgreSQL's costs
 * tell.
 */
static PlannedStmt *
plan_joined_aggregates(Query *query, PlannedStmt *stmt, const char *source,
					   int cursor_options, ParamListInfo params)
{
	PlannedStmt *lookups = plan_joined(query, true, source, cursor_options, params);
	PlannedStmt *values = plan_joined(query, false, source, cursor_options, params);

	if (lookups != NULL && lookups->planTree->total_cost < stmt->planTree->total_cost)
		stmt = lookups;
	if (values != NULL &&
		values->planTree->total_cost < cost_of_lookups_in_memory(stmt->planTree))
		stmt = values;
	return stmt;
}

/* The same of EXISTS below OR. */
static PlannedStmt *
plan_hashed_exists(Query *query, PlannedStmt *stmt, const char *source,
				   int cursor_options, ParamListInfo params)
{
	Query *hashed = copyObject(query);
	PlannedStmt *other;

	if (!query_exists_by_values(hashed) || !query_use_all_here(hashed))
		return stmt;
	other = plan_locally(hashed, source, cursor_options, params);
	return other->planTree->total_cost < cost_of_lookups_in_memory(stmt->planTree) ? other
																				   : stmt;
}

PlannedStmt *
plan_all_here(Query *query, const char *source, int cursor_options, ParamListInfo params)
{
	Query *copy;
	PlannedStmt *stmt;

	if (plan_shows_tasks() || !query_may_be_all_here(query))
		return NULL;
	copy = copyObject(query);
	if (!query_use_all_here(copy))
		return NULL;
	stmt = plan_locally(copy, source, cursor_options, params);
	stmt = plan_joined_aggregates(query, stmt, source, cursor_options, params);
	stmt = plan_hashed_exists(query, stmt, source, cursor_options, params);
	plan_add_relations(stmt, query);
	counter_add(COUNTER_QUERY_MULTI);
	return stmt;
}
