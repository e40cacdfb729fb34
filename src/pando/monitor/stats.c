/*
 * stats.c: counts of statements and of tenants: where statements are looked at.
 *
 * Statements are counted where clients send them, tenants on the node that has their
 * rows. Both are off by default, and cost two comparisons per statement then.
 */
#include "pando/compat/compat.h"

#include "access/parallel.h"
#include "catalog/pg_authid.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"

#include "pando/base/hook.h"
#include "pando/metadata/table.h"
#include "pando/monitor/stats.h"
#include "pando/transaction/xact.h"

const struct config_enum_entry stats_track_options[] = {
	{"none", TRACK_NONE, false}, {"all", TRACK_ALL, false}, {NULL, 0, false}};

bool
stats_may_see_all(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

static void
count_start(QueryDesc *query, int eflags)
{
	PlanKey key;

	hook_start_next(START_COUNT, query, eflags);
	if ((statement_stats_track == TRACK_NONE && tenant_stats_track == TRACK_NONE) ||
		(eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || IsParallelWorker() ||
		!metadata_active())
		return;
	plan_key(query, &key);
	if (!key.distributed)
		return;
	if (statement_stats_track != TRACK_NONE && !xact_is_for_node())
		statement_stats_count(query, &key);
	if (tenant_stats_track != TRACK_NONE && key.here && key.known)
		tenant_stats_begin(query, &key);
}

static void
count_end(QueryDesc *query)
{
	if (tenant_stats_track != TRACK_NONE)
		tenant_stats_end(query);
	hook_end_next(END_COUNT, query);
}

void
stats_init(void)
{
	statement_stats_init();
	tenant_stats_init();
	hook_start(START_COUNT, count_start);
	hook_end(END_COUNT, count_end);
}
