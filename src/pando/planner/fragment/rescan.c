/*
 * rescan.c: which fragments of a plan may be read more than once.
 *
 * A fragment streams its rows, so that reading them again would run its tasks again. One
 * that stands where the executor may start over keeps its rows: below the inner side of
 * a nested loop, in the repeated part of a recursive union, in a subplan that is
 * evaluated per row. What PostgreSQL puts in between to keep rows (Material, Sort, Hash)
 * is enough in itself unless parameters change, which few fragments' rows depend on.
 */
#include "pando/compat/compat.h"

#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "pando/plan/fragment.h"
#include "pando/plan/plan_members.h"
#include "pando/planner/fragment/fragment_path.h"
#include "pando/planner/fragment/rescan.h"

static void mark_plan(Plan *plan, bool repeated);

static void
mark_list(List *plans, bool repeated)
{
	foreach_ptr (Plan, plan, plans)
	{
		mark_plan(plan, repeated);
	}
}

static void
mark_plan(Plan *plan, bool repeated)
{
	if (plan == NULL)
		return;
	switch (nodeTag(plan))
	{
		case T_CustomScan:
		{
			CustomScan *scan = (CustomScan *) plan;

			if (plan_is_kind(plan, PLAN_FRAGMENT))
			{
				fragment_scan_finish(scan);
				if (repeated)
					fragment_packed_store(scan->custom_private);
			}
			/* It keeps rows unless they depend on a parameter. */
			if (plan_is_kind(plan, PLAN_ROW_LOOKUP) &&
				bms_is_empty(((Plan *) linitial(scan->custom_plans))->extParam))
				repeated = false;
			break;
		}
		case T_Material:
		case T_Sort:
			/* Keeps its rows over rescans unless it depends on a parameter. */
			if (bms_is_empty(plan->extParam))
				repeated = false;
			break;
		default:
			break;
	}
	mark_list(plan_members(plan), repeated);
	mark_plan(plan->lefttree, repeated || IsA(plan, RecursiveUnion));
	mark_plan(plan->righttree, repeated || IsA(plan, NestLoop) || IsA(plan, MergeJoin) ||
								   IsA(plan, RecursiveUnion));
}

void
rescan_mark_fragments(PlannedStmt *stmt)
{
	mark_plan(stmt->planTree, false);
	/* Which of these run once is not worth finding out: few rows, or kept anyway. */
	mark_list(stmt->subplans, true);
}
