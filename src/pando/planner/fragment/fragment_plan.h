/*
 * fragment_plan.h: from a Fragment to a plan.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_FRAGMENT_PLAN_H
#define PANDO_PLANNER_FRAGMENT_PLAN_H

#include "pando/compat/compat.h"
#include "nodes/plannodes.h"
#include "pando/plan/fragment.h"

/* The whole statement is one fragment: a plan with the CustomScan at its top. */
extern PlannedStmt *fragment_planned_stmt(Query *original, Fragment *fragment);

/* Vars of range table entry varno for each output column, as a target list. */
extern List *fragment_column_vars(const Fragment *fragment, int varno);

/* The plan node, without target list and costs. */
extern CustomScan *fragment_custom_scan(Fragment *fragment);

/* A plan whose rows are kept, for a cursor that goes back. */
extern Plan *fragment_materialized(Plan *plan);

/* A node of that kind above a plan, with the plan's columns and costs. */
extern CustomScan *fragment_scan_above(Plan *child, PlanKind kind);

/* Gives a scan that is the statement's last step the output of the original, named so. */
extern void fragment_scan_output(PlannedStmt *stmt, CustomScan *scan,
								 const Fragment *fragment, Query *original);

extern void fragment_cost(const Fragment *fragment, Cost *startup, Cost *total);

#endif
