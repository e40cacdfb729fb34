/*
 * residual_plan.c: the plan of what is left of a statement when its fragments are cut
 * out.
 */
#include "pando/compat/compat.h"

#include "utils/lsyscache.h"

#include "pando/metadata/table.h"
#include "pando/planner/fragment/plan_relations.h"
#include "pando/planner/fragment/fragment_path.h"
#include "pando/planner/query/query_facts.h"
#include "pando/planner/where/copies_here.h"
#include "pando/planner/fragment/planning.h"
#include "pando/planner/fragment/rescan.h"
#include "pando/planner/residual/residual_plan.h"

/* The name of a distributed table that the residual reads itself, or NULL. */
static const char *
shell_in_residual(Query *residual)
{
	PlanRelations relations = plan_relations_of(residual);

	foreach_oid(relid, relations.oids)
	{
		const DistTable *table = dist_table(relid);

		if (table && table->kind != TABLE_MANAGED_LOCAL)
			return get_rel_name(relid);
	}
	return NULL;
}

PlannedStmt *
residual_planned_stmt(Query *original, Query *residual, int cursor_options,
					  ParamListInfo params)
{
	PlannedStmt *stmt;
	bool early = (cursor_options & CURSOR_OPT_FAST_PLAN) != 0 ||
				 original->commandType != CMD_SELECT || query_facts(residual).may_write;

	/* It would be read as an empty table. */
	if (!query_use_local_copies(residual) || shell_in_residual(residual) != NULL)
		elog(ERROR, "distributed table \"%s\" is left in the residual query",
			 shell_in_residual(residual));

	foreach_ptr (Fragment, fragment, fragment_scope())
		fragment->early = early;
	/* The copy of the query that planning scribbles on is the residual. */
	stmt = plan_locally(residual, NULL, cursor_options, params);
	rescan_mark_fragments(stmt);
	plan_add_relations(stmt, original);
	foreach_ptr (Fragment, fragment, fragment_scope())
		plan_add_subplans(stmt, fragment);
	return stmt;
}
