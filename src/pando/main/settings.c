/*
 * settings.c: settings that are accepted and decide nothing.
 *
 * Scripts written for the interface set many things. Where one only says how fast, how
 * much at a time or by which way a result is found, and this engine decides that by
 * itself, setting it is harmless: it is accepted, shown, and without effect; its row says
 * why, which pg_settings shows (doc/settings.md). Where it
 * asks for another behaviour that isn't there, any value but the default is refused. A
 * setting that a module has defined itself is left alone, so a row here may go, or stay,
 * when the real one arrives.
 */
#include "pando/compat/compat.h"

#include <limits.h>

#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/memutils.h"

#include "pando/main/settings.h"

typedef struct BoolSetting
{
	const char *name;
	bool initial;
	const char *why; /* it has nothing to decide, or one value */
} BoolSetting;

typedef struct NumberSetting
{
	const char *name;
	int initial;
	int min;
	int flags;
	const char *why;
} NumberSetting;

typedef struct StringSetting
{
	const char *name;
	const char *initial;
	const char *why;
} StringSetting;

typedef struct EnumSetting
{
	const char *name;
	int initial;
	const struct config_enum_entry *options;
	const char *why;
} EnumSetting;

static const BoolSetting bool_settings[] = {
	{"citus.allow_modifications_from_workers_to_replicated_tables", false,
	 "every node may change every table"},
	{"citus.allow_nested_distributed_execution", false,
	 "what a nested query may do follows from its transaction"},
	{"citus.allow_unsafe_locks_from_workers", false,
	 "locks of every node reach the coordinator first"},
	{"citus.binary_worker_copy_format", true,
	 "rows go between nodes in binary form where their types have one"},
	{"citus.defer_drop_after_shard_move", true,
	 "a shard that has moved is dropped when nothing reads it any more"},
	{"citus.defer_drop_after_shard_split", true,
	 "a shard that was split is dropped when nothing reads it any more"},
	{"citus.enable_non_colocated_router_query_pushdown", true,
	 "a query whose shards are on one node runs there"},
	{"citus.enable_recurring_outer_join_pushdown", true,
	 "outer joins run on the shards where that gives the same rows"},
	{"citus.enable_statistics_collection", true, "nothing is reported to anybody"},
	{"citus.enforce_foreign_key_restrictions", true,
	 "a transaction may change both sides of a foreign key in any order"},
	{"citus.enable_unique_job_ids", true, "names of intermediate results never repeat"},
	{"citus.propagate_session_settings_for_loopback_connection", false,
	 "a node makes no connection to itself"},
	{"citus.skip_advisory_lock_permission_checks", false,
	 "nodes don't order themselves by advisory locks"},
	{"citus.enable_cluster_clock", true, "the clock costs nothing unless it is asked"},
	{"citus.enable_cost_based_connection_establishment", true,
	 "sessions are added by slow start"},
	{"citus.enable_deadlock_prevention", true,
	 "one session per node writes for a transaction"},
	{"citus.enable_fast_path_router_planner", true,
	 "there is one planner, and a point query is its shortest way"},
	{"citus.enable_local_fast_path_query_optimization", true,
	 "a point query on a shard that is here is PostgreSQL's own plan"},
	{"citus.enable_local_reference_table_foreign_keys", true, "they always work"},
	{"citus.enable_manual_changes_to_shards", false,
	 "a shard's owner may always change it"},
	{"citus.enable_unsupported_feature_messages", true,
	 "an object that stays on its node says so at DEBUG1 only"},
	{"citus.enable_metadata_sync", true, "every node has the metadata"},
	{"citus.enable_router_execution", true, "there is one executor"},
	{"citus.enable_single_hash_repartition_joins", false,
	 "costs decide which side of a join moves"},
	{"citus.function_opens_transaction_block", true,
	 "statements of a function always share its transaction"},
	{"citus.hide_citus_dependent_objects", false,
	 "lists of the extension's objects are PostgreSQL's"},
	{"citus.log_distributed_deadlock_detection", false,
	 "the error of a deadlock names all who wait"},
	{"citus.log_multi_join_order", false, "EXPLAIN shows it"},
	{"citus.prevent_incomplete_connection_establishment", true,
	 "sessions are opened without blocking"},
	{"citus.select_opens_transaction_block", true,
	 "statements of a block always share its transaction"},
	{"citus.skip_jsonb_validation_in_copy", true,
	 "lines are forwarded unread and parsed by the shard's node"},
	{"citus.subquery_pushdown", false, "what can run on the shards does"},
};

/* Any value but the default is refused. */
static const BoolSetting refused_settings[] = {
	{"citus.allow_unsafe_constraints", false,
	 "plans rely on constraints, and one without the distribution column would hold in "
	 "each shard alone"},
	{"citus.replicate_reference_tables_on_activate", true,
	 "every active node has every reference table"},
	{"citus.skip_constraint_validation", false,
	 "plans rely on constraints, and NOT VALID says that rows were not checked"},
	{"citus.writable_standby_coordinator", false,
	 "a standby can't record what it commits on several nodes"},
};

/*
 * local_shared_pool_size would bound connections from a node to itself: there are none,
 * its own shards are read and written inside the backend.
 */
static const NumberSetting number_settings[] = {
	{"citus.next_operation_id", 0, 0, 0,
	 "operations have no ids that tests could choose"},
	{"citus.copy_switchover_threshold", 4 * 1024 * 1024, 1, GUC_UNIT_BYTE,
	 "rows go to the session that is free"},
	{"citus.cpu_priority", 0, -20, 0,
	 "priorities of processes are the operating system's"},
	{"citus.limit_clause_row_fetch_count", -1, -1, 0, "LIMIT gives PostgreSQL's answer"},
	{"citus.local_shared_pool_size", 0, -1, 0, "a node makes no connection to itself"},
	{"citus.logical_replication_timeout", 2 * 60 * 60 * 1000, 0, GUC_UNIT_MS,
	 "a move shows its progress and can be cancelled"},
	{"citus.max_high_priority_background_processes", 2, 0, 0,
	 "priorities of processes are the operating system's"},
	{"citus.max_matview_size_to_auto_recreate", 1024, -1, GUC_UNIT_MB,
	 "a materialized view is never recreated"},
	{"citus.max_rebalancer_logged_ignored_moves", 5, -1, 0,
	 "the plan of a rebalance is shown whole"},
	{"citus.metadata_sync_interval", 60000, 1, GUC_UNIT_MS,
	 "metadata change on all nodes in the same transaction"},
	{"citus.repartition_join_bucket_count_per_node", 4, 1, 0,
	 "rows go to the shard groups that read them"},
	{"citus.stat_statements_purge_interval", 10, -1, GUC_UNIT_MS,
	 "what pg_stat_statements has forgotten is not shown, and makes room for others"},
	{"citus.values_materialization_threshold", 100, -1, 0, "costs decide"},
};

static const NumberSetting real_settings[] = {
	{"citus.count_distinct_error_rate", 0, 0, 0, "distinct values are counted exactly"},
	{"citus.distributed_deadlock_detection_factor", 2, -1, 0,
	 "a look costs next to nothing, and is taken every second"},
};

static const struct config_enum_entry aggregation_options[] = {
	{"disabled", 0, false}, {"row-gather", 1, false}, {NULL, 0, false}};
static const struct config_enum_entry sync_options[] = {
	{"transactional", 0, false}, {"nontransactional", 1, false}, {NULL, 0, false}};
static const struct config_enum_entry level_options[] = {
	{"off", 0, false},		   {"debug5", DEBUG5, false},	{"debug4", DEBUG4, false},
	{"debug3", DEBUG3, false}, {"debug2", DEBUG2, false},	{"debug1", DEBUG1, false},
	{"debug", DEBUG2, true},   {"log", LOG, false},			{"info", INFO, false},
	{"notice", NOTICE, false}, {"warning", WARNING, false}, {"error", ERROR, false},
	{NULL, 0, false}};

static const struct config_enum_entry replication_options[] = {
	{"statement", 0, false}, {"streaming", 1, false}, {NULL, 0, false}};
static const struct config_enum_entry executor_options[] = {{"adaptive", 0, false},
															{"real-time", 1, true},
															{"task-tracker", 2, true},
															{NULL, 0, false}};

static const EnumSetting enum_settings[] = {
	{"citus.coordinator_aggregation_strategy", 1, aggregation_options,
	 "costs decide how an aggregate is split"},
	{"citus.metadata_sync_mode", 0, sync_options, "metadata change in one transaction"},
	{"citus.multi_task_query_log_level", 0, level_options, "EXPLAIN shows the tasks"},
	{"citus.replication_model", 0, replication_options,
	 "citus.shard_replication_factor says how many copies there are"},
	{"citus.task_executor_type", 0, executor_options, "there is one executor"},
};

static const StringSetting string_settings[] = {
	{"citus.cpu_priority_for_logical_replication_senders", "inherit",
	 "priorities of processes are the operating system's"},
	{"citus.enable_manual_metadata_changes_for_user", "",
	 "metadata are changed by functions that check their caller's rights"},
	{"citus.superuser", "", "the maintenance worker runs as the server"},
};

/* ------------------------------------------------------------------------------------ */

static bool
refuse(void)
{
	GUC_check_errcode(ERRCODE_FEATURE_NOT_SUPPORTED);
	GUC_check_errdetail("Only the default value is supported.");
	return false;
}

static bool
refuse_on(bool *value, void **extra, GucSource source)
{
	return *value ? refuse() : true;
}

static bool
refuse_off(bool *value, void **extra, GucSource source)
{
	return *value ? true : refuse();
}

/* Has a module defined it? A placeholder from the configuration file doesn't count. */
static bool
is_defined(const char *name)
{
	int count;
	struct config_generic **all = compat_guc_variables(&count);

	for (int i = 0; i < count; i++)
		if (strcmp(all[i]->name, name) == 0)
			return (all[i]->flags & GUC_CUSTOM_PLACEHOLDER) == 0;
	return false;
}

/* What pg_settings says of a setting without effect, or one that can't be changed. */
static const char *
described(const char *what, const char *why)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	const char *text = psprintf("%s: %s.", what, why);

	MemoryContextSwitchTo(old);
	return text;
}

/* Storage for a value nobody reads. */
static void *
storage(size_t size)
{
	return MemoryContextAllocZero(TopMemoryContext, size);
}

static void
accept_bool(const char *name, bool initial, const char *text, GucBoolCheckHook check)
{
	if (!is_defined(name))
		DefineCustomBoolVariable(name, text, NULL, storage(sizeof(bool)), initial,
								 PGC_USERSET, 0, check, NULL, NULL);
}

static void
accept_int(const NumberSetting *setting, const char *text)
{
	if (!is_defined(setting->name))
		DefineCustomIntVariable(setting->name, text, NULL, storage(sizeof(int)),
								setting->initial, setting->min, INT_MAX, PGC_USERSET,
								setting->flags, NULL, NULL, NULL);
}

static void
accept_enum(const EnumSetting *setting, const char *text)
{
	int *variable = storage(sizeof(int));

	*variable = setting->initial;
	if (!is_defined(setting->name))
		DefineCustomEnumVariable(setting->name, text, NULL, variable, setting->initial,
								 setting->options, PGC_USERSET, 0, NULL, NULL, NULL);
}

void
settings_accept(void)
{
	static const char *const without = "Without effect";

	for (int i = 0; i < lengthof(bool_settings); i++)
		accept_bool(bool_settings[i].name, bool_settings[i].initial,
					described(without, bool_settings[i].why), NULL);
	for (int i = 0; i < lengthof(refused_settings); i++)
		accept_bool(refused_settings[i].name, refused_settings[i].initial,
					described("Has one value", refused_settings[i].why),
					refused_settings[i].initial ? refuse_off : refuse_on);
	for (int i = 0; i < lengthof(number_settings); i++)
		accept_int(&number_settings[i], described(without, number_settings[i].why));
	for (int i = 0; i < lengthof(enum_settings); i++)
		accept_enum(&enum_settings[i], described(without, enum_settings[i].why));
	for (int i = 0; i < lengthof(real_settings); i++)
		if (!is_defined(real_settings[i].name))
			DefineCustomRealVariable(
				real_settings[i].name, described(without, real_settings[i].why), NULL,
				storage(sizeof(double)), real_settings[i].initial, real_settings[i].min,
				INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	for (int i = 0; i < lengthof(string_settings); i++)
		if (!is_defined(string_settings[i].name))
			DefineCustomStringVariable(
				string_settings[i].name, described(without, string_settings[i].why), NULL,
				storage(sizeof(char *)), string_settings[i].initial, PGC_USERSET, 0, NULL,
				NULL, NULL);
}
