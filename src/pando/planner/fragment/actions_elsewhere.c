/*
 * actions_elsewhere.c: changes of a shard's rows whose foreign keys' actions are done
 * elsewhere.
 *
 * Where actions are done in the client's backend (metadata/firing.h), the change of the
 * referenced row in its shard is not to do them as well. pando.row_acts_elsewhere() in
 * its WHERE says so; the plan gets "Citus Actions Elsewhere" on top. So does the DELETE
 * of a row that goes to another shard (pando.row_moved()), which is no DELETE for who
 * refers to it; and a change of one of several rows of a statement that may refer to each
 * other (pando.row_keys_wait()).
 */
#include "pando/compat/compat.h"

#include "pando/plan/fragment.h"
#include "pando/plan/row_place.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/fragment/actions_elsewhere.h"
#include "pando/planner/query/join_tree.h"

static bool
moves_row(const Query *query)
{
	if (query->commandType != CMD_DELETE)
		return false;
	foreach_ptr (TargetEntry, entry, query->returningList)
	{
		if (is_row_moved((Node *) entry->expr))
			return true;
	}
	return false;
}

ActionsElsewhere
actions_elsewhere_take(Query *query)
{
	ActionsElsewhere taken = {.moves = moves_row(query)};
	List *quals = NIL;

	if ((query->commandType != CMD_UPDATE && query->commandType != CMD_DELETE) ||
		query->jointree->quals == NULL)
		return taken;
	foreach_ptr (Node, qual, quals_flat(query->jointree->quals))
	{
		if (is_row_acts_elsewhere(qual))
			taken.acts = true;
		else if (is_row_keys_wait(qual))
			taken.waits = true;
		else
			quals = lappend(quals, qual);
	}
	if (taken.acts || taken.waits)
		query->jointree->quals = quals_as_node(quals);
	return taken;
}

void
actions_elsewhere_plan(PlannedStmt *stmt, ActionsElsewhere taken)
{
	CustomScan *scan;

	if ((!taken.acts && !taken.waits && !taken.moves) ||
		!IsA(stmt->planTree, ModifyTable))
		return;
	scan = fragment_scan_above(stmt->planTree, PLAN_ACTIONS_ELSEWHERE);
	scan->custom_private = list_make3(makeBoolean(taken.acts), makeBoolean(taken.moves),
									  makeBoolean(taken.waits));
	stmt->planTree = &scan->scan.plan;
}
