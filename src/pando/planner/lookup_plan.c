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

#include "pando/planner/lookup_plan.h"

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

static Plan *
copy_node(const Plan *plan)
{
	Size size;

	switch (nodeTag(plan))
	{
		case T_ModifyTable:
			size = sizeof(ModifyTable);
			break;
		case T_LockRows:
			size = sizeof(LockRows);
			break;
		case T_Limit:
			size = sizeof(Limit);
			break;
		case T_IndexScan:
			size = sizeof(IndexScan);
			break;
		case T_IndexOnlyScan:
			size = sizeof(IndexOnlyScan);
			break;
		case T_Result:
			size = sizeof(Result);
			break;
		default:
			elog(ERROR, "unexpected node %d in the plan of a look-up", nodeTag(plan));
	}
	return memcpy(palloc(size), plan, size);
}

static void
fill_leaf(Plan *plan, const NormalForm *form)
{
	plan->targetlist = normal_form_values(plan->targetlist, form);
	plan->qual = normal_form_values(plan->qual, form);
	if (IsA(plan, IndexScan))
	{
		IndexScan *scan = (IndexScan *) plan;

		scan->indexqual = normal_form_values(scan->indexqual, form);
		scan->indexqualorig = normal_form_values(scan->indexqualorig, form);
	}
	else if (IsA(plan, IndexOnlyScan))
	{
		IndexOnlyScan *scan = (IndexOnlyScan *) plan;

		scan->indexqual = normal_form_values(scan->indexqual, form);
		scan->recheckqual = normal_form_values(scan->recheckqual, form);
	}
	else
	{
		Result *result = (Result *) plan;

		result->resconstantqual =
			(Node *) normal_form_values((List *) result->resconstantqual, form);
	}
}

PlannedStmt *
lookup_plan_fill(const PlannedStmt *stmt, const NormalForm *form)
{
	PlannedStmt *filled = memcpy(palloc(sizeof(PlannedStmt)), stmt, sizeof(PlannedStmt));
	Plan **plan = &filled->planTree;

	*plan = copy_node(*plan);
	while ((*plan)->lefttree != NULL)
	{
		plan = &(*plan)->lefttree;
		*plan = copy_node(*plan);
	}
	fill_leaf(*plan, form);
	return filled;
}
