/*
 * fragment_make.c: from an analysed Query to a Fragment, and from a Fragment to a plan.
 *
 * A fragment's plan node is a CustomScan without a relation of its own. It describes its
 * rows by custom_scan_tlist: Vars of a range table entry named remote_scan, which exists
 * for EXPLAIN. The plan's range table also has every relation of the original statement,
 * as standard_planner would have put them there: the executor checks permissions on them,
 * the plan cache locks them before it runs a plan again, and drops the plan when one
 * changes. Placements are found at execution, under those locks.
 */
#include "pando/compat/compat.h"

#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "pando/metadata/table.h"
#include "pando/planner/query/query_facts.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/where/distribution.h"
#include "pando/planner/fragment/estimate.h"
#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/where/fragment_params.h"
#include "pando/planner/fragment/fragment_path.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/level_fields.h"
#include "pando/planner/where/lock_query.h"
#include "pando/planner/fragment/merge.h"
#include "pando/planner/fragment/spread.h"

/* Rows of a fragment of which nothing is known. */
#define DEFAULT_ROWS 1000

#define ROUND_TRIP_COST 100.0
/* Sent and received: a row of 100 bytes costs what a foreign table's does by default. */
#define BYTE_COST 0.0001

static ShardChoice
choice_of(const Distribution *distribution, CmdType command)
{
	switch (distribution->kind)
	{
		case DIST_ANYWHERE:
			return command == CMD_SELECT ? SHARDS_ANY_COPY : SHARDS_ALL_COPIES;
		case DIST_SHARDED:
		case DIST_SINGLE:
			return distribution->pruned ? SHARDS_BY_KEY : SHARDS_ALL;
		case DIST_COORDINATOR:
			break;
	}
	elog(ERROR, "a query that must run here can't be a fragment");
}

List *
plan_expressions(List *expressions)
{
	List *planned = NIL;

	foreach_ptr (Node, expr, expressions)
	{
		if (IsA(expr, Const) || IsA(expr, Param))
			planned = lappend(planned, expr);
		else
			planned = lappend(planned, expression_planner((Expr *) copyObject(expr)));
	}
	return planned;
}

static bool
column_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, Var) || IsA(node, Query) || IsA(node, SubLink) ||
		   IsA(node, Aggref) || expression_tree_walker(node, column_walker, context);
}

/* Expressions that are evaluated before a task starts: there is no row to take columns
 * of, be it one of an outer query. */
static List *
plan_values(List *expressions)
{
	bool has_column = column_walker((Node *) expressions, NULL);

	Assert(!has_column);
	if (has_column)
		elog(ERROR, "a value that a fragment is given refers to a column");
	return plan_expressions(expressions);
}

void
fragment_set_columns(Fragment *fragment, List *tlist)
{
	foreach_ptr (TargetEntry, tle, tlist)
	{
		Node *expr = (Node *) tle->expr;

		if (tle->resjunk)
			continue;
		fragment->column_names =
			lappend(fragment->column_names,
					makeString(pstrdup(tle->resname ? tle->resname : "?column?")));
		fragment->column_types = lappend_oid(fragment->column_types, exprType(expr));
		fragment->column_typmods =
			lappend_int(fragment->column_typmods, exprTypmod(expr));
		fragment->column_collations =
			lappend_oid(fragment->column_collations, exprCollation(expr));
		fragment->width += get_typavgwidth(exprType(expr), exprTypmod(expr));
	}
}

/* The columns that come out: SELECT's, or RETURNING's. */
static List *
output_tlist(const Query *query)
{
	return query->commandType == CMD_SELECT ? query->targetList : query->returningList;
}

Fragment *
fragment_from_query(Query *query, const Distribution *distribution)
{
	QueryFacts facts = query_facts(query);

	return fragment_from_facts(query, distribution, &facts);
}

Fragment *
fragment_from_facts(Query *query, const Distribution *distribution,
					const QueryFacts *facts)
{
	Fragment *fragment = palloc0(sizeof(Fragment));
	List *params = NIL;
	Query *copy = fragment_params_extract(query, &params);

	fragment->command = query->commandType;
	fragment->anchor = distribution->anchor;
	fragment->choice = choice_of(distribution, query->commandType);
	fragment->keys = plan_values(distribution->keys);
	fragment->template = template_from_query(copy, &fragment->relations);
	fragment->params = plan_values(params);
	fragment->rows = DEFAULT_ROWS;
	fragment->locks = facts->locks;
	fragment->only_reads = !fragment->locks && spread_only_reads(query);
	fragment->first_copy = facts->locks || facts->places;
	if (fragment->choice == SHARDS_ALL || fragment->choice == SHARDS_BY_KEY)
		fragment->spread = distribution->kind == DIST_SHARDED
							   ? spread_of_query(query, facts)
							   : SPREAD_NEVER;
	fragment->merges = query->commandType == CMD_SELECT && !fragment->locks &&
					   !fragment->first_copy && distribution->kind == DIST_SHARDED &&
					   merge_is_better(query);
	fragment_set_columns(fragment, output_tlist(query));
	return fragment;
}

void
fragment_take_estimate(Fragment *fragment, Estimate estimate)
{
	fragment->rows = estimate.rows;
	fragment->width = estimate.width;
	fragment->cost = estimate.cost;
	fragment->column_stats = estimate.column_stats;
}

/* ------------------------------------------------------------------------------------
 * Range table of a plan.
 */

static void
collect_relation(const RangeTblEntry *rte, PlanRelations *collector)
{
	RangeTblEntry *copy = palloc(sizeof(RangeTblEntry));

	/* The executor uses no more of it, nor does a cached plan. */
	*copy = *rte;
	entry_clear(copy, ENTRY_ROWS);
	/* Whose rights are sent along depends on whose are there already. */
	collector->by_role |= OidIsValid(rte->checkAsUser);
	collector->rtes = lappend(collector->rtes, copy);
	collector->oids = list_append_unique_oid(collector->oids, rte->relid);
}

static bool
collect_level(Query *level, void *context)
{
	PlanRelations *collector = context;

	collector->by_role |= level->hasRowSecurity;
	foreach_ptr (RangeTblEntry, rte, level->rtable)
	{
		if (rte->rtekind == RTE_RELATION)
			collect_relation(rte, collector);
	}
	return false;
}

PlanRelations
plan_relations_of(Query *query)
{
	PlanRelations relations = {0};

	(void) query_each_level(query, collect_level, &relations);
	return relations;
}

void
plan_relations_add(PlannedStmt *stmt, const PlanRelations *relations)
{
	stmt->rtable = list_concat(stmt->rtable, relations->rtes);
	stmt->relationOids = list_concat_unique_oid(stmt->relationOids, relations->oids);
	stmt->dependsOnRole |= relations->by_role;
}

void
plan_add_relations(PlannedStmt *stmt, Query *original)
{
	PlanRelations relations = plan_relations_of(original);

	plan_relations_add(stmt, &relations);
}

/*
 * A cached plan locks what is in its range table and is invalidated by what it depends
 * on: the plans that it runs by itself are used as long as it is.
 */
void
plan_add_plan(PlannedStmt *stmt, const PlannedStmt *other)
{
	foreach_ptr (RangeTblEntry, rte, other->rtable)
	{
		if (rte->rtekind != RTE_RELATION)
			continue;
		rte = copyObject(rte);
		/* Checked when the other plan starts. */
		rte->requiredPerms = 0;
		stmt->rtable = lappend(stmt->rtable, rte);
	}
	stmt->relationOids = list_concat_unique_oid(stmt->relationOids, other->relationOids);
	stmt->invalItems = list_concat(stmt->invalItems, other->invalItems);
	stmt->dependsOnRole |= other->dependsOnRole;
}

void
plan_add_subplans(PlannedStmt *stmt, const Fragment *fragment)
{
	foreach_ptr (SubResult, sub, fragment->subplans)
		plan_add_plan(stmt, sub->plan);
}

/* The entry that names a fragment's columns. */
static RangeTblEntry *
remote_scan_rte(const Fragment *fragment)
{
	return rte_new(RTE_FUNCTION, "remote_scan", fragment->column_names);
}

List *
fragment_column_vars(const Fragment *fragment, int varno)
{
	List *tlist = NIL;
	ListCell *type;
	ListCell *typmod;
	ListCell *collation;
	ListCell *name;

	forfour(type, fragment->column_types, typmod, fragment->column_typmods, collation,
			fragment->column_collations, name, fragment->column_names)
	{
		AttrNumber attno = list_length(tlist) + 1;
		Var *var = makeVar(varno, attno, lfirst_oid(type), lfirst_int(typmod),
						   lfirst_oid(collation), 0);

		tlist = lappend(
			tlist, makeTargetEntry((Expr *) var, attno, strVal(lfirst(name)), false));
	}
	return tlist;
}

CustomScan *
fragment_custom_scan(Fragment *fragment)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->custom_private = fragment_pack(fragment);
	scan->methods = plan_scan_methods(PLAN_FRAGMENT);
	scan->scan.plan.parallel_safe = false;
	return scan;
}

CustomScan *
fragment_scan_above(Plan *child, PlanKind kind)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan *plan = &scan->scan.plan;

	plan->startup_cost = child->startup_cost;
	plan->total_cost = child->total_cost;
	plan->plan_rows = child->plan_rows;
	plan->plan_width = child->plan_width;
	plan->lefttree = child;
	plan->extParam = bms_copy(child->extParam);
	plan->allParam = bms_copy(child->allParam);
	foreach_ptr (TargetEntry, entry, child->targetlist)
	{
		TargetEntry *below = flatCopyTargetEntry(entry);
		TargetEntry *above = flatCopyTargetEntry(entry);
		Node *expr = (Node *) entry->expr;

		below->expr = (Expr *) makeVar(OUTER_VAR, entry->resno, exprType(expr),
									   exprTypmod(expr), exprCollation(expr), 0);
		above->expr = (Expr *) makeVar(INDEX_VAR, entry->resno, exprType(expr),
									   exprTypmod(expr), exprCollation(expr), 0);
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, below);
		plan->targetlist = lappend(plan->targetlist, above);
	}
	scan->methods = plan_scan_methods(kind);
	return scan;
}

void
fragment_cost(const Fragment *fragment, Cost *startup, Cost *total)
{
	double bytes = estimate_bytes(fragment->rows, fragment->width);

	/*
	 * A plan that PostgreSQL's own will replace costs nothing here, so that the plan
	 * cache comes to prefer it to planning for each value.
	 */
	if (fragment->local != NULL)
	{
		*startup = *total = 0;
		return;
	}
	*startup = ROUND_TRIP_COST;
	*total =
		*startup + fragment->cost + fragment->rows * cpu_tuple_cost + bytes * BYTE_COST;
}

/* Names and origins of the output columns, as the client's row description has them. */
static void
copy_labels(List *tlist, List *labels)
{
	ListCell *cell = list_head(tlist);

	foreach_ptr (TargetEntry, label, labels)
	{
		TargetEntry *tle;

		if (label->resjunk)
			continue;
		tle = lfirst_node(TargetEntry, cell);
		tle->resname = label->resname;
		tle->resorigtbl = label->resorigtbl;
		tle->resorigcol = label->resorigcol;
		cell = lnext(tlist, cell);
	}
}

/* A PlannedStmt for the statement with that plan and an empty range table. */
static PlannedStmt *
planned_stmt_for(Query *original, Plan *plan)
{
	PlannedStmt *stmt = makeNode(PlannedStmt);

	stmt->commandType = original->commandType;
	stmt->queryId = original->queryId;
	stmt->hasReturning = original->returningList != NIL;
	stmt->hasModifyingCTE = original->hasModifyingCTE;
	stmt->canSetTag = original->canSetTag;
	stmt->planTree = plan;
	stmt->stmt_location = original->stmt_location;
	stmt->stmt_len = original->stmt_len;
	return stmt;
}

void
fragment_scan_output(PlannedStmt *stmt, CustomScan *scan, const Fragment *fragment,
					 Query *original)
{
	Index varno;

	stmt->rtable = lappend(stmt->rtable, remote_scan_rte(fragment));
	varno = list_length(stmt->rtable);
	scan->scan.plan.targetlist = fragment_column_vars(fragment, INDEX_VAR);
	copy_labels(scan->scan.plan.targetlist, output_tlist(original));
	scan->custom_scan_tlist = fragment_column_vars(fragment, varno);
	scan->custom_relids = bms_make_singleton(varno);
}

PlannedStmt *
fragment_planned_stmt(Query *original, Fragment *fragment)
{
	CustomScan *scan = fragment_custom_scan(fragment);
	PlannedStmt *stmt = planned_stmt_for(original, &scan->scan.plan);

	fragment_scan_output(stmt, scan, fragment, original);
	fragment_cost(fragment, &scan->scan.plan.startup_cost, &scan->scan.plan.total_cost);
	scan->scan.plan.plan_rows = fragment->rows;
	scan->scan.plan.plan_width = fragment->width;
	plan_add_relations(stmt, original);
	plan_add_subplans(stmt, fragment);
	return stmt;
}
