/*
 * init.c: what the background module registers when the library is loaded.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "pando/background/init.h"
#include "pando/background/task_queue.h"
#include "pando/background/worker_state.h"
#include "pando/transaction/xact.h"
#include "postmaster/bgworker.h"

/*
 * Once per backend that writes: the extension may be new in this database, or the
 * database a copy of one that has it.
 */
static void
want_worker(XactMoment moment, bool committed)
{
	static bool done = false;

	if (done || moment != XACT_MOMENT_PREPARE ||
		!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return;
	/* The cheap question first: most databases don't have it. */
	if (!OidIsValid(get_namespace_oid("pando", true)) ||
		!OidIsValid(get_extension_oid("pando", true)))
		return;
	worker_want(MyDatabaseId);
	done = true;
}

static void
register_launcher(void)
{
	BackgroundWorker worker = {0};

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "pando", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "background_launcher_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "pando maintenance launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "pando maintenance launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

void
background_init(void)
{
	worker_state_init();
	hold_init();
	xact_register(want_worker);
	task_queue_init();
	register_launcher();
}
