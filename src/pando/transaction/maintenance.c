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

#define FIRST_RETRY_MS 100
#define LAST_RETRY_MS 10000

static int retry_interval = 0; /* 0: all nodes answered */

/* Is citus.recover_2pc_interval anything but off? */
bool
maintenance_recovers(void)
{
	return recover_interval >= 0;
}

static int
recovery_interval(void)
{
	if (recover_interval < 0 || retry_interval == 0)
		return recover_interval;
	return Min(retry_interval, recover_interval);
}

static void
recovery_run(void)
{
	int settled = xact_recover();

	/* A node that comes back soon is settled soon. */
	if (recovery_unreached() == 0)
		retry_interval = 0;
	else if (retry_interval == 0)
		retry_interval = FIRST_RETRY_MS;
	else
		retry_interval = Min(retry_interval * 2, LAST_RETRY_MS);

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
		.wish = WISH_RECOVERY,
	};

	DefineCustomIntVariable(
		"citus.recover_2pc_interval",
		"Sets how often transactions that a crash left prepared are settled.",
		"-1 switches it off.", &recover_interval, 60000, -1, 7 * 24 * 3600 * 1000,
		PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	maintenance_register(&recovery);
}
