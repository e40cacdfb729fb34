/*
 * subplan_cost.c: what a plan costs that evaluates subplans for its rows.
 *
 * PostgreSQL takes each lookup of a subplan, and of a LATERAL subquery's aggregate, for
 * the first, while it takes those of a table that is joined for many: such a plan seems
 * dearer than it is beside one that joins. Which part of its cost is theirs isn't said;
 * what is not is at least that of the parts without any.
 */
#include "pando/compat/compat.h"

#include "optimizer/clauses.h"

#include "pando/plan/plan_members.h"
#include "pando/planner/local/subplan_cost.h"

/* How much less a lookup costs that finds its pages in memory: measured, with the
 * settings for it (random_page_cost 1.1). */
#define LOOKUPS_IN_MEMORY 10

/* Is an aggregate computed for each outer row? */
static bool
joins_aggregate(const Plan *plan)
{
	const Plan *inner = innerPlan(plan);

	if (!IsA(plan, NestLoop) || ((const NestLoop *) plan)->nestParams == NIL)
		return false;
	while (IsA(inner, Memoize) || IsA(inner, SubqueryScan))
		inner = IsA(inner, Memoize) ? outerPlan(inner)
									: ((const SubqueryScan *) inner)->subplan;
	return IsA(inner, Agg);
}

/* In conditions and columns; none is evaluated elsewhere. */
static bool
evaluates_subplans(const Plan *plan)
{
	if (contain_subplans((Node *) plan->targetlist) ||
		contain_subplans((Node *) plan->qual))
		return true;
	switch (nodeTag(plan))
	{
		case T_Result:
			return contain_subplans(((const Result *) plan)->resconstantqual);
		case T_NestLoop:
			return contain_subplans((Node *) ((const Join *) plan)->joinqual) ||
				   joins_aggregate(plan);
		case T_HashJoin:
			return contain_subplans((Node *) ((const Join *) plan)->joinqual) ||
				   contain_subplans((Node *) ((const HashJoin *) plan)->hashclauses);
		case T_MergeJoin:
			return contain_subplans((Node *) ((const Join *) plan)->joinqual) ||
				   contain_subplans((Node *) ((const MergeJoin *) plan)->mergeclauses);
		default:
			return false;
	}
}

/* The cost of the largest parts without subplans; `all`: there are none at all. */
static Cost
cost_besides(const Plan *plan, bool *all)
{
	List *inputs = list_copy(plan_members(plan));
	Cost cost = 0;

	if (outerPlan(plan) != NULL)
		inputs = lappend(inputs, outerPlan(plan));
	if (innerPlan(plan) != NULL && !joins_aggregate(plan))
		inputs = lappend(inputs, innerPlan(plan));
	*all = !evaluates_subplans(plan);
	foreach_ptr (const Plan, input, inputs)
	{
		bool all_of_input;

		cost += cost_besides(input, &all_of_input);
		*all &= all_of_input;
	}
	return *all ? plan->total_cost : cost;
}

Cost
cost_of_lookups_in_memory(Plan *plan)
{
	bool all;
	Cost besides = Min(cost_besides(plan, &all), plan->total_cost);

	return besides + (plan->total_cost - besides) / LOOKUPS_IN_MEMORY;
}
