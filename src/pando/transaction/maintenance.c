/*
 * maintenance.c: the jobs of the maintenance worker, and those of this module.
 */
#include "pando/compat/compat.h"

#include <limits.h>

#include "pando/transaction/maintenance.h"
#include "pando/transaction/member.h"
#include "utils/guc.h"
#include "utils/memutils.h"

static List *jobs = NIL;
static int recover_interval = 60000;

void
maintenance_register(const MaintenanceJob *job)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	jobs = lappend(jobs, (void *) job);
	MemoryContextSwitchTo(old);
}

List *
maintenance_jobs(void)
{
	return jobs;
}

static int
recovery_interval(void)
{
	return recover_interval;
}

static void
recovery_run(void)
{
	int settled = xact_recover();

	if (settled > 0)
		ereport(LOG, (errmsg("settled %d prepared transactions of a crash or of a node "
							 "that was away",
							 settled)));
}

void
maintenance_init(void)
{
	static const MaintenanceJob recovery = {
		.name = "recovery of prepared transactions",
		.interval = recovery_interval,
		.run = recovery_run,
	};

	DefineCustomIntVariable(
		"citus.recover_2pc_interval",
		"Sets how often transactions that a crash left prepared are settled.",
		"-1 switches it off.", &recover_interval, 60000, -1, 7 * 24 * 3600 * 1000,
		PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	maintenance_register(&recovery);
}
