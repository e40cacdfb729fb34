/*
 * init.c: the executor module's settings, and what it registers when the library is
 * loaded.
 */
#include "pando/compat/compat.h"

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/plancache.h"

#include "pando/executor/arrived.h"
#include "pando/executor/batched_lookup.h"
#include "pando/executor/call.h"
#include "pando/executor/explain.h"
#include "pando/executor/explain_worker.h"
#include "pando/executor/found_rows.h"
#include "pando/executor/init.h"
#include "pando/executor/intermediate.h"
#include "pando/executor/kept_rows.h"
#include "pando/executor/actions_elsewhere.h"
#include "pando/executor/lock_rows.h"
#include "pando/executor/row_lookup.h"
#include "pando/executor/shard_choice.h"
#include "pando/executor/scan.h"
#include "pando/executor/settings.h"
#include "pando/executor/steps.h"
#include "pando/executor/triggers.h"
#include "pando/executor/written.h"
#include "pando/plan/fragment.h"

int executor_assignment_policy = ASSIGN_GREEDY;
bool executor_binary_protocol = true;
bool executor_explain_all_tasks = false;
bool executor_explain_tasks = true;
bool executor_log_results = false;
int executor_explain_sort = EXPLAIN_SORT_TIME;
int executor_max_result_size = 1024 * 1024;
bool executor_sort_returning = false;
bool executor_sequential_writes = false;

int executor_slow_start_ms = 10;
int executor_pool_size = 16;
bool executor_force_spread = false;

static int modify_mode = 0;
static bool local_execution = true;
static int task_check_interval = 10;
static bool commutative = false;

static const struct config_enum_entry assignment_policies[] = {
	{"greedy", ASSIGN_GREEDY, false},
	{"round-robin", ASSIGN_ROUND_ROBIN, false},
	{"first-replica", ASSIGN_FIRST_REPLICA, false},
	{NULL, 0, false},
};

static const struct config_enum_entry explain_sorts[] = {
	{"execution-time", EXPLAIN_SORT_TIME, false},
	{"taskId", EXPLAIN_SORT_TASK, false},
	{NULL, 0, false},
};

static const struct config_enum_entry modify_modes[] = {
	{"parallel", 0, false},
	{"sequential", 1, false},
	{NULL, 0, false},
};

static void
assign_modify_mode(int value, void *extra)
{
	executor_sequential_writes = value == 1;
}

/* Plans that were made without tasks are made anew. */
static void
assign_log_local(bool value, void *extra)
{
	if (value && !plan_logs_local && IsUnderPostmaster)
		ResetPlanCache();
}

static void
define_bool(const char *name, const char *description, bool *variable)
{
	DefineCustomBoolVariable(name, description, NULL, variable, *variable, PGC_USERSET, 0,
							 NULL, NULL, NULL);
}

static void
define_settings(void)
{
	DefineCustomEnumVariable("citus.task_assignment_policy",
							 "How a copy of a shard is chosen for reading.", NULL,
							 &executor_assignment_policy, ASSIGN_GREEDY,
							 assignment_policies, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("citus.explain_analyze_sort_method",
							 "Order in which EXPLAIN ANALYZE shows tasks.", NULL,
							 &executor_explain_sort, EXPLAIN_SORT_TIME, explain_sorts,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("citus.multi_shard_modify_mode",
							 "Whether a write on several nodes runs on all at once.",
							 NULL, &modify_mode, 0, modify_modes, PGC_USERSET, 0, NULL,
							 assign_modify_mode, NULL);
	DefineCustomIntVariable("citus.max_intermediate_result_size",
							"Largest intermediate result of a statement; -1: no limit.",
							NULL, &executor_max_result_size, 1024 * 1024, -1,
							MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.executor_slow_start_interval",
							"Time between new sessions to a node within one statement.",
							NULL, &executor_slow_start_ms, 10, 0, INT_MAX, PGC_USERSET,
							GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.max_adaptive_executor_pool_size",
							"Largest number of sessions to a node within one statement.",
							NULL, &executor_pool_size, 16, 1, INT_MAX, PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable(
		"citus.remote_task_check_interval",
		"Time between looks at remote tasks; kept for scripts, waits are "
		"event-driven.",
		NULL, &task_check_interval, 10, 1, INT_MAX, PGC_USERSET,
		GUC_UNIT_MS | GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	define_bool("citus.enable_binary_protocol",
				"Rows come from nodes in binary where their types can.",
				&executor_binary_protocol);
	define_bool("citus.explain_distributed_queries",
				"EXPLAIN shows the nodes' own plans of tasks.", &executor_explain_tasks);
	define_bool("citus.log_intermediate_results",
				"Reports where intermediate results are written and sent, at DEBUG1.",
				&executor_log_results);
	DefineCustomBoolVariable(
		"citus.log_local_commands", "Reports each task on shards of this node.", NULL,
		&plan_logs_local, false, PGC_USERSET, 0, NULL, assign_log_local, NULL);
	define_bool("citus.explain_all_tasks", "EXPLAIN shows all tasks instead of one.",
				&executor_explain_all_tasks);
	define_bool("citus.sort_returning", "Rows of RETURNING come sorted, for tests.",
				&executor_sort_returning);
	define_bool(
		"citus.enable_local_execution",
		"Without effect: tasks on this node run inside the backend, which sees what "
		"the transaction wrote.",
		&local_execution);
	define_bool("citus.force_max_query_parallelization",
				"A read of several shards uses as many sessions as it may, at once.",
				&executor_force_spread);
	define_bool("citus.all_modifications_commutative",
				"Without effect: copies are written in one order by everybody, so they "
				"can't differ.",
				&commutative);
}

void
executor_init(void)
{
	define_settings();
	scan_register();
	lock_rows_register();
	arrived_init();
	steps_init();
	kept_rows_init();
	actions_elsewhere_init();
	triggers_init();
	found_rows_init();
	written_init();
	shard_choice_register();
	batched_lookup_register();
	row_lookup_register();
	call_init();
	result_init();
	explain_init();
	explain_worker_init();
}
