/*
 * modify.c: UPDATE and DELETE.
 *
 * They are sent whole where each of the target's rows finds all that it is compared with
 * in its own shard group: that is distribution_of_query()'s verdict on the statement.
 * Else what it is compared with is read first, or all that it computes is computed here.
 * What may move rows to other shards is key_change.c's.
 */
#include "pando/compat/compat.h"

#include "utils/lsyscache.h"

#include "pando/planner/fragment/fragment_make.h"
#include "pando/planner/query/flatten.h"
#include "pando/planner/residual/broadcast.h"
#include "pando/planner/residual/decorrelate.h"
#include "pando/planner/residual/exchange/exchange_level.h"
#include "pando/planner/where/cte_once.h"
#include "pando/planner/where/result_scope.h"
#include "pando/planner/write/computed_change.h"
#include "pando/planner/write/modify.h"
#include "pando/planner/write/row_identity.h"
#include "pando/planner/write/several_sources.h"
#include "pando/planner/write/system_columns.h"
#include "pando/planner/write/target_policy.h"
#include "pando/planner/write/write_rules.h"

static void
refuse_modification(const DistTable *target, Query *query, const char *why)
{
	refuse_varying_copies(target, query);
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("this change of table \"%s\" cannot be made on its shards and is not "
				"supported yet",
				get_rel_name(target->relid)),
		 errdetail("%s.", why ? why : "It depends on rows of other shards or tables")));
}

static bool
stands(Query *query, const DistTable *target, Distribution *distribution)
{
	*distribution = distribution_of_query(query);
	return can_stand_on_shards(query, target, distribution);
}

/* The statement once what it is joined with has been sent to where the target's rows are;
 * what else it is compared with is read first. NULL if it can't stand on shards then. */
static Query *
change_after_exchange(Query *query, const DistTable *target, Distribution *distribution)
{
	Query *copy = query_without_join_columns(query);
	bool moved;

	level_keep_ctes(copy);
	moved = level_decorrelate(copy);
	moved |= level_exchange(copy);
	if (moved && (stands(copy, target, distribution) ||
				  (write_broadcast(copy) && stands(copy, target, distribution))))
		return copy;
	results_forget(0);
	return NULL;
}

/* The statement once all that it is compared with has been read, and is known to all
 * shards; NULL if it can't stand on them then, either. */
static Query *
change_after_reads(Query *query, const DistTable *target, Distribution *distribution)
{
	Query *copy = query_without_join_columns(query);

	level_keep_ctes(copy);
	return write_broadcast(copy) && stands(copy, target, distribution) ? copy : NULL;
}

/* The same once all that it computes has been computed; `given`: with the policies of its
 * target. NULL if that can't be, *why says why. */
static Query *
change_after_computing(Query *given, const DistTable *target, Distribution *distribution,
					   const char **why)
{
	Query *computed;

	results_forget(0);
	computed = change_computed_here(given, target, why);
	if (computed == NULL)
		return NULL;
	*distribution = distribution_of_query(computed);
	*why = distribution->reason;
	if (!can_stand_on_shards(computed, target, distribution))
		return NULL;
	return rows_have_no_name(target) ? change_of_numbered_rows(computed, target)
									 : computed;
}

/*
 * A row that has several copies and that several rows of FROM may match: one is chosen
 * here. Where that can't be done, as the statement says it, and if there are several it
 * fails.
 */
static Query *
change_of_one_source(Query *given, Query *query, const DistTable *target,
					 Distribution *distribution)
{
	Distribution computed_distribution;
	const char *why;
	Query *change;

	/* What is computed here leaves the distribution column as it is. */
	if (!may_have_several_sources(query, target) || !keeps_key(query, target, NIL))
		return NULL;
	change = change_after_computing(given, target, &computed_distribution, &why);
	if (change == NULL)
		results_forget(0);
	else
		*distribution = computed_distribution;
	return change;
}

Fragment *
change_fragment(Query *given, Query *query, const DistTable *target)
{
	List *outer = results_enter();
	SystemColumns columns = write_system_columns(query);
	bool past = target_is_read_unasked(given);
	Distribution distribution;
	bool by_ctid = false;
	bool by_line = false;
	Fragment *fragment;
	Query *change;

	if (columns.tableoid)
		query = write_with_shell_oids(query);
	distribution = distribution_of_query(query);
	change = change_of_one_source(given, query, target, &distribution);
	by_line = change != NULL && rows_have_no_name(target);
	if (change == NULL && !past && can_stand_on_shards(query, target, &distribution))
		change = query_that_refuses_several_sources(query, target);
	if (change == NULL && !past)
	{
		/* Rows that go from node to node don't have the places that they came from. */
		if (!columns.others)
			change = change_after_exchange(query, target, &distribution);
		if (change == NULL)
			change = change_after_reads(query, target, &distribution);
		by_ctid = change != NULL && columns.others;
		if (change != NULL)
			change = query_that_refuses_several_sources(change, target);
	}
	if (change == NULL)
	{
		const char *why = distribution.reason;

		change = change_after_computing(given, target, &distribution, &why);
		if (change == NULL)
			refuse_modification(target, query, why);
		by_line = rows_have_no_name(target);
	}
	fragment = fragment_from_query(change, &distribution);
	fragment->anchor = target->relid;
	fragment->subplans = results_of_query(change);
	fragment->by_ctid = by_ctid;
	fragment->by_line = by_line;
	results_leave(outer);
	return fragment;
}

Fragment *
change_of_lines_fragment(Query *query, const DistTable *target)
{
	List *outer = results_enter();
	Distribution distribution;
	Fragment *fragment;

	change_compute_source(query);
	if (!stands(query, target, &distribution))
		refuse_modification(target, query, distribution.reason);
	query = change_of_numbered_rows(query, target);
	fragment = fragment_from_query(query, &distribution);
	fragment->anchor = target->relid;
	fragment->subplans = results_of_query(query);
	fragment->by_line = true;
	results_leave(outer);
	return fragment;
}

Fragment *
change_of_first_row_fragment(Query *query, const DistTable *target, List *quals)
{
	Distribution distribution;
	Fragment *fragment;

	if (!stands(query, target, &distribution))
		refuse_modification(target, query, distribution.reason);
	fragment =
		fragment_from_query(change_of_first_row(query, target, quals), &distribution);
	fragment->anchor = target->relid;
	fragment->by_line = true;
	return fragment;
}
