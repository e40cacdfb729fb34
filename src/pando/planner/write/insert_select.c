/*
 * insert_select.c: INSERT whose rows come from a query.
 *
 * The INSERT is split into a SELECT that gives the target's columns, coerced and with
 * defaults, and the write. Where each row that the SELECT finds in a shard group belongs
 * to the same shard group of the target, the whole is one fragment and no row leaves its
 * node. Where they belong to others, and are more than a few, an exchange sends them
 * there first. Else the SELECT is planned like any other, and a node on top of it
 * (PLAN_INSERT_SELECT) sends its rows to the target's shards.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "pando/compat/rights.h"
#include "pando/planner/fragment/plan_relations.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/write/write_rules.h"
#include "pando/planner/write/insert_select.h"
#include "pando/planner/write/insert.h"
#include "pando/planner/write/may_run_here.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/residual/decorrelate.h"
#include "pando/planner/residual/exchange/exchange.h"
#include "pando/planner/residual/exchange/exchange_level.h"
#include "pando/planner/residual/exchange/exchange_move.h"
#include "pando/planner/where/cte_once.h"
#include "pando/planner/where/place.h"
#include "pando/planner/where/result_scope.h"
#include "pando/planner/fragment/planning.h"
#include "pando/planner/where/relations.h"

Query *
select_of_insert(Query *insert)
{
	Query *select = copyObject(insert);
	AttrNumber resno = 0;
	List *tlist = NIL;
	Index varno = 0;
	Relids used;

	level_become_select(select);
	used = compat_relids_in_jointree((Node *) select->jointree, true);
	foreach_ptr (RangeTblEntry, rte, select->rtable)
	{
		/* The target, or what a rule took the place of: named for its rights alone. */
		if (!bms_is_member(++varno, used))
			rte_become(rte, RTE_RESULT);
	}
	foreach_ptr (TargetEntry, tle, select->targetList)
	{
		if (tle->resjunk)
			continue;
		tle->resno = ++resno;
		if (tle->resname == NULL)
			tle->resname = psprintf("column%d", resno);
		tlist = lappend(tlist, tle);
	}
	select->targetList = tlist;
	return select;
}

/* Attribute numbers of the columns that are inserted, in the SELECT's order. */
static List *
insert_columns(Query *insert)
{
	List *columns = NIL;

	foreach_ptr (TargetEntry, tle, insert->targetList)
	{
		if (!tle->resjunk)
			columns = lappend_int(columns, tle->resno);
	}
	return columns;
}

/* The INSERT with that SELECT, whole, as its source. */
static Query *
insert_from_select(Query *insert, Query *select)
{
	Query *result = copyObject(insert);
	List *tlist = NIL;
	int position = 0;
	Index varno;

	insert_forget_source(result);
	result->rtable = lappend(result->rtable, rte_of_query("source", select));
	varno = list_length(result->rtable);
	foreach_int(column, insert_columns(insert))
	{
		TargetEntry *tle = list_nth(select->targetList, position++);
		Var *var = makeVarFromTargetEntry(varno, tle);

		tlist =
			lappend(tlist, makeTargetEntry((Expr *) var, column, tle->resname, false));
	}
	result->jointree = from_one(varno);
	result->targetList = tlist;
	return result;
}

/* The node that gets the source's rows: sends them on as they come. */
static CustomScan *
copying_scan(const DistTable *target, List *columns)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->custom_private = list_make2(list_make1_oid(target->relid), columns);
	scan->methods = plan_scan_methods(PLAN_INSERT_SELECT);
	return scan;
}

/* The same by INSERT statements, which ON CONFLICT and RETURNING need. */
static CustomScan *
inserting_scan(Query *insert, const DistTable *target, PlannedStmt *stmt)
{
	Fragment *fragment = insert_rows_fragment(insert, target, true);
	CustomScan *scan = fragment_custom_scan(fragment);

	fragment_scan_output(stmt, scan, fragment, insert);
	return scan;
}

/* Is COPY not enough? It knows no policies, and no rights but the client's. */
static bool
must_insert(Query *insert, const DistTable *target)
{
	Oid writer =
		entry_rights(rt_fetch(insert->resultRelation, insert->rtable))->checkAsUser;

	return insert->onConflict || insert->returningList ||
		   (OidIsValid(writer) && writer != GetUserId()) ||
		   (insert->hasRowSecurity &&
			check_enable_rls(target->relid, InvalidOid, true) == RLS_ENABLED);
}

static PlannedStmt *
plan_through_here(Query *insert, const DistTable *target, Query *select, List *columns,
				  int cursor_options, ParamListInfo params)
{
	/* A plan that writes can't be parallel. */
	PlannedStmt *stmt =
		plan_any_query(select, cursor_options & ~CURSOR_OPT_PARALLEL_OK, params);
	Plan *source = stmt->planTree;
	CustomScan *scan = must_insert(insert, target) ? inserting_scan(insert, target, stmt)
												   : copying_scan(target, columns);

	scan->custom_plans = list_make1(source);
	scan->scan.plan.startup_cost = source->startup_cost;
	scan->scan.plan.total_cost = source->total_cost;
	scan->scan.plan.plan_rows = source->plan_rows;
	scan->scan.plan.plan_width = source->plan_width;
	scan->scan.plan.extParam = bms_copy(source->extParam);
	scan->scan.plan.allParam = bms_copy(source->allParam);

	stmt->planTree = &scan->scan.plan;
	stmt->commandType = CMD_INSERT;
	stmt->hasReturning = insert->returningList != NIL;
	stmt->canSetTag = insert->canSetTag;
	stmt->queryId = insert->queryId;
	stmt->stmt_location = insert->stmt_location;
	stmt->stmt_len = insert->stmt_len;
	plan_add_relations(stmt, insert);
	return stmt;
}

/*
 * Is the INSERT one fragment? Into a reference table each copy would run the SELECT by
 * itself: done only for what the other way can't do.
 */
static bool
goes_whole(Query *insert, const DistTable *target, const Distribution *distribution)
{
	switch (distribution->kind)
	{
		case DIST_SHARDED:
		case DIST_SINGLE:
			return dist_table_is_sharded(target);
		case DIST_ANYWHERE:
			return target->kind == TABLE_REFERENCE &&
				   (insert->onConflict || insert->returningList);
		case DIST_COORDINATOR:
			break;
	}
	return false;
}

static Fragment *
whole_fragment(Query *insert, Query *whole, const DistTable *target,
			   const Distribution *distribution)
{
	Fragment *fragment;

	check_on_shard(insert, target);
	refuse_varying_copies(target, insert);
	fragment = fragment_from_query(whole, distribution);
	fragment->anchor = target->relid;
	return fragment;
}

/* ------------------------------------------------------------------------------------
 * Rows that go from the SELECT's shards to the target's.
 */

static bool
is_on_other_nodes(const Distribution *distribution)
{
	return distribution->kind == DIST_SHARDED &&
		   !all_shards_are_here(dist_table_require(distribution->anchor));
}

/* The SELECT, where it can be evaluated on shards of several groups, not all of them
 * here; else NULL. */
static Query *
select_on_shards(Query *insert)
{
	Query *select = query_without_join_columns(select_of_insert(insert));
	Distribution distribution = distribution_of_query(select);

	if (is_on_other_nodes(&distribution))
		return select;
	level_keep_ctes(select);
	(void) level_decorrelate(select);
	if (!level_exchange(select))
		return NULL;
	distribution = distribution_of_query(select);
	return is_on_other_nodes(&distribution) ? select : NULL;
}

/* The number of the SELECT's column by whose hash, which may be that of its collation,
 * nodes find the row's shard group; 0: none. */
static int
key_of_rows(Query *select, Query *insert, const DistTable *target)
{
	int number = 0;

	foreach_int(column, insert_columns(insert))
	{
		Node *value =
			(Node *) list_nth_node(TargetEntry, select->targetList, number++)->expr;

		if (column == target->key)
			return exprCollation(value) == target->key_collation ? number : 0;
	}
	return 0;
}

/* Do RETURNING's rows come in an order that the SELECT gives them? */
static bool
returns_in_order(Query *insert, Query *select)
{
	foreach_ptr (RangeTblEntry, rte, insert->returningList != NIL ? select->rtable : NIL)
	{
		if (rte->rtekind == RTE_SUBQUERY && rte->subquery->sortClause != NIL)
			return true;
	}
	return false;
}

/* SELECT all columns of the rows, once they are where the target has its own. */
static Query *
rows_exchanged(Query *select, int key, const DistTable *target)
{
	Query *rows = query_of_columns(rte_of_output("rows", select));

	linitial(rows->rtable) =
		exchange_of_query(select, key, true, place_table(target->relid, 1));
	((SubResult *) llast(results_scope()))->stored = true;
	return rows;
}

/*
 * The INSERT as one fragment, after exchanges that make its SELECT fit or send its rows
 * to the target's shards. NULL: they come by way of this node.
 */
static Fragment *
exchanged_fragment(Query *insert, const DistTable *target)
{
	List *outer = results_enter();
	Query *select = select_on_shards(insert);
	int key = select != NULL ? key_of_rows(select, insert, target) : 0;
	Fragment *fragment = NULL;

	if (key > 0 && !returns_in_order(insert, select) && exchange_of_insert_pays(select))
	{
		Query *whole = insert_from_select(insert, select);
		Distribution distribution = distribution_of_query(whole);

		if (distribution.kind != DIST_SHARDED)
		{
			whole = insert_from_select(insert, rows_exchanged(select, key, target));
			exchange_plan_all(whole);
			distribution = distribution_of_query(whole);
		}
		if (distribution.kind == DIST_SHARDED)
		{
			fragment = whole_fragment(insert, whole, target, &distribution);
			fragment->subplans = results_of_query(whole);
		}
	}
	results_leave(outer);
	return fragment;
}

Fragment *
insert_select_fragment(Query *query, const DistTable *target)
{
	Distribution distribution;

	/* The text would have the changes below the top level. */
	if (query->hasModifyingCTE || conflict_has_sublinks(query) ||
		!query_dist_relations(select_of_insert(query)).any)
		return NULL;
	distribution = distribution_of_query(query);
	if (!goes_whole(query, target, &distribution))
		return target->kind != TABLE_HASH || table_has_copies(target) ||
					   all_shards_are_here(target)
				   ? NULL
				   : exchanged_fragment(query, target);
	return whole_fragment(query, insert_from_select(query, select_of_insert(query)),
						  target, &distribution);
}

PlannedStmt *
plan_insert_select(Query *query, const DistTable *target, int cursor_options,
				   ParamListInfo params)
{
	return plan_through_here(query, target, select_of_insert(query),
							 insert_columns(query), cursor_options, params);
}
