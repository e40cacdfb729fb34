/*
 * settings.c: settings that are accepted and decide nothing.
 *
 * Scripts written for the interface set many things. Where one only says how fast, how
 * much at a time or by which way a result is found, and this engine decides that by
 * itself, setting it is harmless: it is accepted, shown, and without effect. Where it
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
} BoolSetting;

typedef struct NumberSetting
{
	const char *name;
	int initial;
	int min;
	int flags;
} NumberSetting;

typedef struct EnumSetting
{
	const char *name;
	int initial;
	const struct config_enum_entry *options;
} EnumSetting;

static const BoolSetting bool_settings[] = {
	{"citus.check_available_space_before_move", true},
	{"citus.enable_cluster_clock", true},
	{"citus.enable_cost_based_connection_establishment", true},
	{"citus.enable_deadlock_prevention", true},
	{"citus.enable_fast_path_router_planner", true},
	{"citus.enable_local_fast_path_query_optimization", true},
	{"citus.enable_local_reference_table_foreign_keys", true},
	{"citus.enable_manual_changes_to_shards", false},
	{"citus.enable_metadata_sync", true},
	{"citus.enable_repartitioned_insert_select", true},
	{"citus.enable_router_execution", true},
	{"citus.enable_single_hash_repartition_joins", false},
	{"citus.function_opens_transaction_block", true},
	{"citus.hide_citus_dependent_objects", false},
	{"citus.log_distributed_deadlock_detection", false},
	{"citus.log_multi_join_order", false},
	{"citus.prevent_incomplete_connection_establishment", true},
	{"citus.select_opens_transaction_block", true},
	{"citus.skip_jsonb_validation_in_copy", true},
	{"citus.subquery_pushdown", false},
};

/* Their default is off; on is refused. */
static const char *const refused_settings[] = {
	"citus.allow_unsafe_constraints",			"citus.enable_change_data_capture",
	"citus.enable_create_database_propagation", "citus.enable_schema_based_sharding",
	"citus.skip_constraint_validation",			"citus.writable_standby_coordinator",
};

/*
 * local_shared_pool_size would bound connections from a node to itself: there are none,
 * its own shards are read and written inside the backend.
 */
static const NumberSetting number_settings[] = {
	{"citus.background_task_queue_interval", 5000, -1, GUC_UNIT_MS},
	{"citus.copy_switchover_threshold", 4 * 1024 * 1024, 1, GUC_UNIT_BYTE},
	{"citus.cpu_priority", 0, -20, 0},
	{"citus.defer_shard_delete_interval", 15000, -1, GUC_UNIT_MS},
	{"citus.limit_clause_row_fetch_count", -1, -1, 0},
	{"citus.local_shared_pool_size", 0, -1, 0},
	{"citus.logical_replication_timeout", 2 * 60 * 60 * 1000, 0, GUC_UNIT_MS},
	{"citus.max_background_task_executors", 1, 1, 0},
	{"citus.max_background_task_executors_per_node", 1, 1, 0},
	{"citus.max_high_priority_background_processes", 2, 0, 0},
	{"citus.max_matview_size_to_auto_recreate", 1024, -1, GUC_UNIT_MB},
	{"citus.max_rebalancer_logged_ignored_moves", 5, -1, 0},
	{"citus.metadata_sync_interval", 60000, 1, GUC_UNIT_MS},
	{"citus.repartition_join_bucket_count_per_node", 4, 1, 0},
	{"citus.stat_statements_max", 50000, 1000, 0},
	{"citus.stat_statements_purge_interval", 10, -1, GUC_UNIT_MS},
	{"citus.stat_tenants_limit", 100, 1, 0},
	{"citus.stat_tenants_period", 60, 1, GUC_UNIT_S},
	{"citus.values_materialization_threshold", 100, -1, 0},
};

static const NumberSetting real_settings[] = {
	{"citus.count_distinct_error_rate", 0, 0, 0},
	{"citus.desired_percent_disk_available_after_move", 10, 0, 0},
	{"citus.distributed_deadlock_detection_factor", 2, -1, 0},
	{"citus.stat_tenants_untracked_sample_rate", 1, 0, 0},
};

static const struct config_enum_entry aggregation_options[] = {
	{"disabled", 0, false}, {"row-gather", 1, false}, {NULL, 0, false}};
static const struct config_enum_entry sync_options[] = {
	{"transactional", 0, false}, {"nontransactional", 1, false}, {NULL, 0, false}};
static const struct config_enum_entry track_options[] = {
	{"none", 0, false}, {"all", 1, false}, {NULL, 0, false}};
static const struct config_enum_entry never_options[] = {
	{"never", 0, false}, {"always", 1, false}, {NULL, 0, false}};
static const struct config_enum_entry level_options[] = {
	{"off", 0, false},		   {"debug5", DEBUG5, false},	{"debug4", DEBUG4, false},
	{"debug3", DEBUG3, false}, {"debug2", DEBUG2, false},	{"debug1", DEBUG1, false},
	{"debug", DEBUG2, true},   {"log", LOG, false},			{"info", INFO, false},
	{"notice", NOTICE, false}, {"warning", WARNING, false}, {"error", ERROR, false},
	{NULL, 0, false}};

static const EnumSetting enum_settings[] = {
	{"citus.coordinator_aggregation_strategy", 1, aggregation_options},
	{"citus.metadata_sync_mode", 0, sync_options},
	{"citus.multi_task_query_log_level", 0, level_options},
	{"citus.stat_statements_track", 0, track_options},
	{"citus.stat_tenants_log_level", 0, level_options},
	{"citus.stat_tenants_track", 0, track_options},
};

static const char accepted_text[] = "Accepted without effect: this is decided elsewhere.";
static const char refused_text[] = "Asks for something that is not supported yet.";

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
refuse_limit(int *value, void **extra, GucSource source)
{
	return *value != -1 ? refuse() : true;
}

static bool
refuse_always(int *value, void **extra, GucSource source)
{
	return *value != 0 ? refuse() : true;
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
accept_int(const NumberSetting *setting, const char *text, GucIntCheckHook check)
{
	if (!is_defined(setting->name))
		DefineCustomIntVariable(setting->name, text, NULL, storage(sizeof(int)),
								setting->initial, setting->min, INT_MAX, PGC_USERSET,
								setting->flags, check, NULL, NULL);
}

static void
accept_enum(const EnumSetting *setting, const char *text, GucEnumCheckHook check)
{
	if (!is_defined(setting->name))
		DefineCustomEnumVariable(setting->name, text, NULL, storage(sizeof(int)),
								 setting->initial, setting->options, PGC_USERSET, 0,
								 check, NULL, NULL);
}

void
settings_accept(void)
{
	static const NumberSetting client_limit = {"citus.max_client_connections", -1, -1, 0};
	static const EnumSetting secondaries = {"citus.use_secondary_nodes", 0,
											never_options};
	static const char *const senders =
		"citus.cpu_priority_for_logical_replication_senders";

	for (int i = 0; i < lengthof(bool_settings); i++)
		accept_bool(bool_settings[i].name, bool_settings[i].initial, accepted_text, NULL);
	for (int i = 0; i < lengthof(refused_settings); i++)
		accept_bool(refused_settings[i], false, refused_text, refuse_on);
	for (int i = 0; i < lengthof(number_settings); i++)
		accept_int(&number_settings[i], accepted_text, NULL);
	accept_int(&client_limit, refused_text, refuse_limit);
	for (int i = 0; i < lengthof(enum_settings); i++)
		accept_enum(&enum_settings[i], accepted_text, NULL);
	accept_enum(&secondaries, refused_text, refuse_always);
	for (int i = 0; i < lengthof(real_settings); i++)
		if (!is_defined(real_settings[i].name))
			DefineCustomRealVariable(real_settings[i].name, accepted_text, NULL,
									 storage(sizeof(double)), real_settings[i].initial,
									 real_settings[i].min, INT_MAX, PGC_USERSET, 0, NULL,
									 NULL, NULL);
	if (!is_defined(senders))
		DefineCustomStringVariable(senders, accepted_text, NULL, storage(sizeof(char *)),
								   "inherit", PGC_USERSET, 0, NULL, NULL, NULL);
}
