/*
 * lookup_plan.c: plans for one row, which are the best whatever the constants are.
 *
 * They are chains of nodes that hand on the row of the one below, down to the one that
 * finds it (a scan of a unique index with all of its columns given) or makes it (the
 * Result of an INSERT). Only that last node has expressions with the statement's
 * constants in them: those come from WHERE and from the list of assigned values.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/planner/local/lookup_plan.h"

static bool
compares_column(List *quals, AttrNumber column, Oid family)
{
	foreach_ptr (OpExpr, clause, quals)
	{
		Var *var;

		if (!IsA(clause, OpExpr))
			continue;
		var = linitial(clause->args);
		if (IsA(var, Var) && var->varno == INDEX_VAR && var->varattno == column &&
			get_op_opfamily_strategy(clause->opno, family) == BTEqualStrategyNumber)
			return true;
	}
	return false;
}

/* Only a btree index can be unique. */
static bool
finds_one_row(Oid indexid, List *quals)
{
	Relation index = index_open(indexid, AccessShareLock);
	bool found = index->rd_index->indisunique;

	for (int i = 0; found && i < index->rd_index->indnkeyatts; i++)
		found = compares_column(quals, i + 1, index->rd_opfamily[i]);
	index_close(index, NoLock);
	return found;
}

bool
plan_is_lookup(const PlannedStmt *stmt)
{
	const Plan *plan = stmt->planTree;

	if (stmt->subplans != NIL || stmt->transientPlan || stmt->dependsOnRole)
		return false;
	while (IsA(plan, ModifyTable) || IsA(plan, LockRows) || IsA(plan, Limit))
		plan = plan->lefttree;
	switch (nodeTag(plan))
	{
		case T_IndexScan:
			return finds_one_row(((const IndexScan *) plan)->indexid,
								 ((const IndexScan *) plan)->indexqual);
		case T_IndexOnlyScan:
			return finds_one_row(((const IndexOnlyScan *) plan)->indexid,
								 ((const IndexOnlyScan *) plan)->indexqual);
		case T_Result:
			return plan->lefttree == NULL;
		default:
			return false;
	}
}
