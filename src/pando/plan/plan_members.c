/*
 * plan_members.c: the plans in a plan.
 */
#include "pando/compat/compat.h"

#include "pando/plan/plan_members.h"

List *
plan_members(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SubqueryScan:
			return list_make1(((const SubqueryScan *) plan)->subplan);
		case T_Append:
			return ((const Append *) plan)->appendplans;
		case T_MergeAppend:
			return ((const MergeAppend *) plan)->mergeplans;
		case T_CustomScan:
			return ((const CustomScan *) plan)->custom_plans;
		default:
			return NIL;
	}
}
