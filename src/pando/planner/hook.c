/*
 * hook.c: the planner hook: where a statement goes.
 *
 * A query without distributed tables leaves at once. Otherwise, cheapest first:
 *
 * - all that it needs in one shard that is here: by PostgreSQL itself (local_plan.c);
 * - only reference tables, read: their copies here, by PostgreSQL itself (copies_here.c);
 * - a write: write.c;
 * - one distribution for the whole query: one fragment;
 * - else: distribute_query() cuts fragments out and PostgreSQL plans the residual.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "pando/compat/query_form.h"
#include "pando/compat/query_text.h"
#include "pando/base/hook.h"
#include "pando/planner/fragment/plan_relations.h"
#include "pando/planner/fragment/fragment_plan.h"
#include "pando/planner/local/local_start.h"
#include "pando/planner/query/idle_sublink.h"
#include "pando/planner/query/inline_functions.h"
#include "pando/planner/query/query_facts.h"
#include "pando/planner/write/view_check.h"
#include "pando/planner/write/cursor_row.h"
#include "pando/planner/write/target_policy.h"
#include "pando/planner/write/insert.h"
#include "pando/planner/query/cte_use.h"
#include "pando/planner/local/all_here.h"
#include "pando/planner/fragment/column_stats.h"
#include "pando/planner/residual/distribute.h"
#include "pando/planner/residual/exchange/exchange_move.h"
#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/fragment/fragment_path.h"
#include "pando/planner/query/hoist.h"
#include "pando/planner/hook.h"
#include "pando/planner/init.h"
#include "pando/metadata/sequence_value.h"
#include "pando/planner/local/kept_execution.h"
#include "pando/planner/where/copies_here.h"
#include "pando/planner/local/batched_lookup.h"
#include "pando/planner/local/call_plan.h"
#include "pando/planner/local/host_share.h"
#include "pando/planner/local/local_plan.h"
#include "pando/planner/where/lock_query.h"
#include "pando/planner/write/may_run_here.h"
#include "pando/planner/fragment/planning.h"
#include "pando/planner/where/relations.h"
#include "pando/planner/local/repeat.h"
#include "pando/planner/residual/joined_copies.h"
#include "pando/planner/residual/residual_plan.h"
#include "pando/planner/residual/row_locks.h"
#include "pando/planner/where/result_scope.h"
#include "pando/planner/write/returning.h"
#include "pando/planner/where/row_ctid.h"
#include "pando/planner/residual/sample.h"
#include "pando/planner/local/settled_plan.h"
#include "pando/planner/local/shard_choice.h"
#include "pando/planner/fragment/spread.h"
#include "pando/planner/write/steps.h"
#include "pando/planner/write/triggered.h"
#include "pando/planner/write/triggered_conflict.h"
#include "pando/planner/local/union_size.h"
#include "pando/planner/write/write.h"

bool plan_shells = false;

static PlannedStmt *
plan_one_fragment(Query *query, const Distribution *distribution, int cursor_options)
{
	Fragment *fragment = fragment_from_facts(query, distribution, &distribution->facts);

	fragment->early = (cursor_options & CURSOR_OPT_FAST_PLAN) != 0;
	/* With one task there is nothing to decide by it. */
	if (estimate_tasks(distribution) > 1)
		fragment_take_estimate(fragment, estimate_query(query));
	if (distribution->kind == DIST_SINGLE && list_length(distribution->keys) <= 1 &&
		!query->hasForUpdate && !query_has_cursor_rows(query))
	{
		Node *key = distribution->keys != NIL ? linitial(distribution->keys) : NULL;

		fragment_may_run_here(fragment, query, key, cursor_options);
	}
	return fragment_planned_stmt(query, fragment);
}

/*
 * A SELECT, or a change of a local table. `keep`: the plan shall be a fragment, wherever
 * its shard group is (repeat.c).
 */
static PlannedStmt *
plan_read(Query *query, const char *source, int cursor_options, ParamListInfo params,
		  bool keep)
{
	Distribution distribution = distribution_of_query(query);
	PlannedStmt *stmt = NULL;

	spread_statement(&distribution.facts);
	if (distribution.kind != DIST_SINGLE)
		stmt = plan_all_here(query, source, cursor_options, params);
	if (stmt != NULL)
		return stmt;
	if (distribution.kind != DIST_SINGLE)
	{
		Query *joined = query_with_copies_joined(query);

		if (level_hoist_order(joined) || joined != query)
			distribution = distribution_of_query(joined);
		query = joined;
	}
	if (distribution.kind == DIST_SINGLE && !keep)
		stmt = plan_single_here(query, &distribution, source, cursor_options, params);
	if (stmt != NULL)
		return stmt;
	if (distribution.kind == DIST_COORDINATOR)
	{
		stmt =
			residual_planned_stmt(query, distribute_query(query), cursor_options, params);
		plan_put_locks(stmt);
	}
	else
		stmt = plan_one_fragment(query, &distribution, cursor_options);
	if (distribution.facts.locks)
		plan_mark_locks(stmt, query);
	return stmt;
}

/* Reads reference tables only. */
static PlannedStmt *
plan_reference_read(Query *query, const char *source, int cursor_options,
					ParamListInfo params)
{
	Query *copy = copyObject(query);
	PlannedStmt *stmt;

	if (plan_logs_local || query_locks_elsewhere(query) || !query_use_local_copies(copy))
		return NULL;
	stmt = plan_locally(copy, source, cursor_options, params);
	plan_add_relations(stmt, query);
	return stmt;
}

/* One shard group's text may have several writes. */
static bool
needs_steps(Query *query)
{
	const DistTable *target = NULL;

	if (query->commandType != CMD_SELECT)
		target = dist_table(rt_fetch(query->resultRelation, query->rtable)->relid);
	if (query->commandType != CMD_SELECT && returning_is_computed_here(query))
		return true;
	if (!query->hasModifyingCTE)
		return false;
	if (query->commandType == CMD_INSERT || (target && !dist_table_is_sharded(target)))
		return true;
	return statement_fires_here(query) ||
		   distribution_of_query(query).kind != DIST_SINGLE;
}

static PlannedStmt *
plan_distributed(Query *query, const char *source, int cursor_options,
				 ParamListInfo params, DistRelations found, bool keep)
{
	PlannedStmt *stmt = NULL;
	bool returns = query->returningList != NIL;
	Query *given;

	if (!found.sharded && !found.modified)
		stmt = plan_reference_read(query, source, cursor_options, params);
	given = query_with_barriers_as_quals(query);
	query = query_with_view_checks(given);
	if (stmt == NULL && needs_steps(query))
		stmt = plan_in_steps(query, cursor_options, params);
	if (stmt == NULL && query->commandType != CMD_SELECT)
		stmt = plan_write(query, cursor_options, params);
	if (stmt == NULL)
		stmt = plan_read(query, source, cursor_options, params, keep);

	stmt->hasReturning &= returns;
	/* What their errors show. */
	stmt->dependsOnRole |= query != given;
	if ((cursor_options & CURSOR_OPT_SCROLL) && !ExecSupportsBackwardScan(stmt->planTree))
		stmt->planTree = fragment_materialized(stmt->planTree);
	return stmt;
}

/* Those under which PostgreSQL may plan it here: in a parallel worker functions can't
 * read distributed tables. */
static int
options_here(Query *query, int cursor_options)
{
	if ((cursor_options & CURSOR_OPT_PARALLEL_OK) != 0 &&
		query_may_read_in_functions(query))
		return cursor_options & ~CURSOR_OPT_PARALLEL_OK;
	return cursor_options;
}

/* Plans a query with distributed tables, which may be scribbled on. */
static PlannedStmt *
plan_query(Query *query, const char *source, int cursor_options, ParamListInfo params,
		   DistRelations found, bool keep)
{
	PlannedStmt *stmt;
	List *outer = fragment_scope_enter();
	List *outer_results = results_scope();
	bool outer_writes = spread_statement_begin();

	PG_TRY();
	{
		stmt = plan_distributed(query, source, options_here(query, cursor_options),
								params, found, keep);
	}
	PG_FINALLY();
	{
		fragment_scope_leave(outer);
		results_leave(outer_results);
		spread_statement_end(outer_writes);
	}
	PG_END_TRY();
	return stmt;
}

/* May a point query be one fragment? What is refused as such is not when its shard is
 * here. The row of an INSERT is evaluated here in either case. */
static bool
is_for_shards(Query *query)
{
	if (query->commandType != CMD_INSERT)
		return distribution_of_query(query).kind == DIST_SINGLE;
	return query->targetList != NIL && insert_hazard(query) == NULL;
}

/* The plan that is kept of a statement that came before, or is now. */
static PlannedStmt *
plan_again(Query *query, const char *source, int cursor_options, ParamListInfo params,
		   DistRelations found, RepeatShard shard)
{
	Repeat repeat;
	PlannedStmt *stmt = repeat_plan(query, cursor_options, shard, &repeat);

	if (repeat.query == NULL)
		return stmt;
	if (shard != REPEAT_HERE || is_for_shards(repeat.query))
		stmt = plan_query(repeat.query, source, cursor_options, params, found,
						  shard == REPEAT_HERE);
	return repeat_planned(&repeat, stmt);
}

/* `whole`: not a piece of a statement, whose plan may become a part of another. */
static PlannedStmt *
plan_found(Query *query, const char *source, int cursor_options, ParamListInfo params,
		   DistRelations found, bool whole)
{
	PlannedStmt *stmt = NULL;
	RepeatShard shard = REPEAT_UNKNOWN;
	Point point;
	int index = -1;
	bool is_point;

	/* PostgreSQL doesn't plan them either. */
	if (found.any && found.with_queries)
	{
		query_drop_unused_ctes(query);
		found = query_dist_relations(query);
	}
	if (!found.any)
		return plan_within_share(query, source, cursor_options, params);
	if (merge_is_instead(query))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("MERGE into view \"%s\", which has INSTEAD OF triggers, is "
						"not supported on distributed tables yet",
						get_rel_name(
							rt_fetch(query->resultRelation, query->rtable)->relid))));
	if (!found.sharded || found.fires_here)
		return plan_query(query, source, cursor_options, params, found, false);

	is_point = point_of_query(query, &point);
	if (is_point)
		index = point_shard(&point, params);
	if (index >= 0)
		shard = shard_is_only_here(point.table, index) ? REPEAT_HERE : REPEAT_ELSEWHERE;
	else if (whole && is_point && conflict_is_for_here(query) &&
			 (all_shards_are_here(point.table) ||
			  !conflict_is_computed_here(query, point.table)))
		stmt = plan_point_later(query, &point, options_here(query, cursor_options));
	if (stmt != NULL)
		return stmt;
	/* Where values are given to plan with, the plan cache decides if they are used. */
	if (whole && (shard != REPEAT_HERE || params == NULL))
		stmt = plan_again(query, source, cursor_options, params, found, shard);
	if (stmt == NULL && shard == REPEAT_HERE)
		stmt = plan_point_here(query, point.table, index, source,
							   options_here(query, cursor_options), params);
	return stmt != NULL ? stmt
						: plan_query(query, source, cursor_options, params, found, false);
}

/* A statement as it came, not a piece of one. */
static PlannedStmt *
plan_statement(Query *query, const char *source, int cursor_options, ParamListInfo params,
			   DistRelations found)
{
	PlannedStmt *call =
		found.any ? NULL : plan_call(query, source, cursor_options, params);
	Query *cursor = NULL;

	if (call != NULL)
		return call;
	if (found.samples)
		query = query_without_samples_of_rows(query);
	if (found.places)
		query = query_with_row_places(query);
	if (query->commandType == CMD_UPDATE || query->commandType == CMD_DELETE)
		query = query_with_cursor_conditions(query);
	if (found.any && (cursor_options & CURSOR_OPT_FAST_PLAN))
		cursor = query_with_cursor_rows(query);
	if (cursor != NULL)
	{
		PlannedStmt *stmt =
			plan_query(cursor, source, cursor_options, params, found, true);

		plan_hide_cursor_rows(stmt, query);
		return stmt;
	}
	return plan_found(query, source, cursor_options, params, found, true);
}

/* A piece of a statement, with or without distributed tables. */
static PlannedStmt *
plan_piece(Query *query, int cursor_options, ParamListInfo params)
{
	return plan_found(query, NULL, cursor_options, params, query_dist_relations(query),
					  false);
}

static PlannedStmt *
plan_hook(Query *query, const char *source, int cursor_options, ParamListInfo params)
{
	/* What the plan depends on for functions that are inlined before it is made. */
	PlannerGlobal inlined = {.type = T_PlannerGlobal};
	DistRelations found;
	PlannedStmt *stmt;

	if (query->commandType == CMD_UTILITY || plan_shells || !metadata_active())
		return plan_locally(query, source, cursor_options, params);
	query_form_enter(query);
	if (InNoForceRLSOperation())
		query_use_past_forced_policies(query);
	query = (Query *) sequence_values_of_cluster((Node *) query, &inlined);
	found = query_dist_relations(query);
	if (found.sql_functions && !is_call_for_coordinator(query))
	{
		query = query_with_inlined_functions(query, &inlined);
		query_form_enter(query);
		found = query_dist_relations(query);
	}
	if (found.any && found.sublinks)
	{
		query_drop_idle_sublinks(query, &inlined);
		found = query_dist_relations(query);
	}
	stmt = plan_statement(query, source, cursor_options, params, found);
	stmt->invalItems = list_concat(stmt->invalItems, inlined.invalItems);
	stmt->dependsOnRole |= inlined.dependsOnRole;
	return stmt;
}

void
planner_init(void)
{
	DefineCustomBoolVariable(
		"pando.shells_only",
		"Takes shell tables as plain tables; set by Pando while it changes them.", NULL,
		&plan_shells, false, PGC_USERSET, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL, NULL,
		NULL);
	exchange_move_init();
	planning_init(plan_piece);
	hook_planner(PLANNER_STATEMENT, plan_hook);
	fragment_path_init();
	column_stats_init();
	shard_choice_init();
	batched_lookup_init();
	union_size_init();
	host_share_init();
	local_start_init();
	kept_execution_init();
	settled_plan_init();
	triggered_init();
}
