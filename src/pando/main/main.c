/*
 * main.c: loading the extension: each module's init, bottom up.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "pando/background/init.h"
#include "pando/base/hook.h"
#include "pando/base/init.h"
#include "pando/base/setting_alias.h"
#include "pando/catalog/init.h"
#include "pando/capture/capture.h"
#include "pando/cluster/init.h"
#include "pando/copy/init.h"
#include "pando/ddl/init.h"
#include "pando/executor/init.h"
#include "pando/main/settings.h"
#include "pando/metadata/init.h"
#include "pando/monitor/init.h"
#include "pando/planner/init.h"
#include "pando/remote/init.h"
#include "pando/statistics/init.h"
#include "pando/transaction/init.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void _PG_init(void);

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pando can only be loaded via shared_preload_libraries"),
				 errhint("Add pando to shared_preload_libraries in postgresql.conf and "
						 "restart the server.")));
	if (hook_is_taken())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pando has to be loaded before other libraries that take part in "
						"planning and running statements"),
				 errhint("Place pando at the beginning of shared_preload_libraries.")));

	base_init();
	catalog_init();
	remote_init();
	metadata_init();
	transaction_init();
	planner_init();
	executor_init();
	statistics_init();
	copy_init();
	ddl_init();
	capture_init();
	cluster_init();
	monitor_init();
	background_init();
	hook_take_all();

	settings_accept();
	setting_alias_all("citus", "canopy");
	MarkGUCPrefixReserved("canopy");
	MarkGUCPrefixReserved("citus");
	MarkGUCPrefixReserved("pando");
}
