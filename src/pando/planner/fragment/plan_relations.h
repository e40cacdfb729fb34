/*
 * plan_relations.h: the relations that a plan depends on.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_PLAN_RELATIONS_H
#define PANDO_PLANNER_PLAN_RELATIONS_H

#include "pando/compat/compat.h"
#include "nodes/plannodes.h"
#include "pando/plan/fragment.h"

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

/* What a plan of its own results needs is needed by the plan that reads them, too. */
extern void plan_add_subplans(PlannedStmt *stmt, const Fragment *fragment);

#endif
