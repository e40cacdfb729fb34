/*
 * fragment_path.h: fragments as FROM items of a residual query, and their plan nodes.
 *
 * Internal to the planner module; others use fragment_make.h.
 */
#ifndef PANDO_PLANNER_FRAGMENT_PATH_H
#define PANDO_PLANNER_FRAGMENT_PATH_H

#include "pando/compat/compat.h"
#include "nodes/plannodes.h"
#include "pando/plan/fragment.h"

/* Takes part in making paths; once, when the library is loaded. */
extern void fragment_path_init(void);

/*
 * Fragments made by fragment_rte() belong to the scope entered last, and live as long as
 * the memory context they were made in. Returns the outer scope for the leave; call leave
 * after an error as well.
 */
extern List *fragment_scope_enter(void);
extern void fragment_scope_leave(List *outer);

/* The fragments of the current scope, in order of their numbers. */
extern List *fragment_scope(void);

/* The fragment that a call of pando.fragment() stands for; NULL: another call. */
extern Fragment *fragment_of_call(Node *call);

/* Vars of range table entry varno for each output column, as a target list. */
extern List *fragment_column_vars(const Fragment *fragment, int varno);

/* The plan node, without target list and costs. */
extern CustomScan *fragment_custom_scan(Fragment *fragment);

/* A node of that kind above a plan, with the plan's columns and costs. */
extern CustomScan *fragment_scan_above(Plan *child, PlanKind kind);

/* After planning: gives references to the scan's whole row their value. */
extern void fragment_scan_finish(CustomScan *scan);

/* Gives a scan that is the statement's last step the output of the original, named so. */
extern void fragment_scan_output(PlannedStmt *stmt, CustomScan *scan,
								 const Fragment *fragment, Query *original);

extern void fragment_cost(const Fragment *fragment, Cost *startup, Cost *total);

/* Sets the fragment's output columns from a target list's columns that are not junk. */
extern void fragment_set_columns(Fragment *fragment, List *tlist);

/* Copies as the executor evaluates them: function defaults expanded, constants folded. */
extern List *plan_expressions(List *expressions);

/* The relations of a statement: copies of their entries, which may be changed there. */
typedef struct PlanRelations
{
	List *rtes;
	List *oids;
	bool by_role; /* it depends on who runs the statement */
} PlanRelations;

extern PlanRelations plan_relations_of(Query *query);

/* Adds the original's relations: permission checks, locks, invalidation. */
extern void plan_relations_add(PlannedStmt *stmt, const PlanRelations *relations);
extern void plan_add_relations(PlannedStmt *stmt, Query *original);

/* Adds those of a plan that the statement runs by itself, which checks permissions. */
extern void plan_add_plan(PlannedStmt *stmt, const PlannedStmt *other);

#endif
