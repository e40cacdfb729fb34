/*
 * plan_relations.c: the relations that a plan depends on.
 *
 * Its range table has every relation of the original statement, as standard_planner would
 * have put them there: the executor checks permissions on them, the plan cache locks them
 * before it runs a plan again, and drops the plan when one changes. Placements are found
 * at execution, under those locks.
 */
#include "pando/compat/compat.h"

#include "pando/compat/rights.h"
#include "pando/planner/fragment/plan_relations.h"
#include "pando/planner/query/each_level.h"
#include "pando/planner/query/level_fields.h"

static void
collect_relation(const RangeTblEntry *rte, PlanRelations *collector)
{
	RangeTblEntry *copy = palloc(sizeof(RangeTblEntry));

	/* The executor uses no more of it, nor does a cached plan. */
	*copy = *rte;
	entry_own_rights(copy);
	entry_clear(copy, ENTRY_ROWS);
	/* Whose rights are sent along depends on whose are there already. */
	collector->by_role |= OidIsValid(entry_rights(rte)->checkAsUser);
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
		if (entry_is_checked(rte))
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
	plan_add_entries(stmt, relations->rtes);
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
		entry_drop_rights(rte);
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
