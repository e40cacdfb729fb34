/*
 * fragment_plan.c: from a Fragment to a plan.
 *
 * A fragment's plan node is a CustomScan without a relation of its own. It describes its
 * rows by custom_scan_tlist: Vars of a range table entry named remote_scan, which exists
 * for EXPLAIN.
 */
#include "pando/compat/compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"

#include "pando/planner/fragment/estimate.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/fragment/partition_choice.h"
#include "pando/planner/fragment/plan_relations.h"
#include "pando/planner/query/from_item.h"
#include "pando/planner/query/query_shape.h"

#define ROUND_TRIP_COST 100.0
/* Sent and received: a row of 100 bytes costs what a foreign table's does by default. */
#define BYTE_COST 0.0001

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

/* The columns of a plan as the varno of one above it. */
static List *
columns_as(const Plan *child, int varno)
{
	List *columns = NIL;

	foreach_ptr (TargetEntry, entry, child->targetlist)
	{
		TargetEntry *column = flatCopyTargetEntry(entry);
		Node *expr = (Node *) entry->expr;

		column->expr = (Expr *) makeVar(varno, entry->resno, exprType(expr),
										exprTypmod(expr), exprCollation(expr), 0);
		columns = lappend(columns, column);
	}
	return columns;
}

Plan *
fragment_materialized(Plan *plan)
{
	Plan *material = materialize_finished_plan(plan);

	/* EXPLAIN VERBOSE follows it to what is below. */
	material->targetlist = columns_as(plan, OUTER_VAR);
	return material;
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
	scan->custom_scan_tlist = columns_as(child, OUTER_VAR);
	plan->targetlist = columns_as(child, INDEX_VAR);
	scan->methods = plan_scan_methods(kind);
	return scan;
}

void
fragment_cost(const Fragment *fragment, Cost *startup, Cost *total)
{
	double bytes = estimate_bytes(fragment->rows, fragment->width);

	/*
	 * A plan that PostgreSQL's own will replace costs nothing here, so that the plan
	 * cache comes to prefer it to planning for each value, unless that is better.
	 */
	if (fragment->local != NULL)
	{
		*startup = *total =
			query_partitions_by_params(fragment->local->query) ? disable_cost : 0;
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
	copy_labels(scan->scan.plan.targetlist, query_output(original));
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
