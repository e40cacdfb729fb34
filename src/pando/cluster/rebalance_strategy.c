/*
 * rebalance_strategy.c: rows of pg_dist_rebalance_strategy, and who may use them now.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/base/sql.h"
#include "pando/catalog/job.h"
#include "pando/cluster/rebalance_strategy.h"

PG_FUNCTION_INFO_V1(citus_shard_cost_1);
PG_FUNCTION_INFO_V1(citus_node_capacity_1);
PG_FUNCTION_INFO_V1(citus_shard_allowed_on_node_true);
PG_FUNCTION_INFO_V1(citus_validate_rebalance_strategy_functions);

/* The functions of the strategy by_shard_count, in C since they are called for each of
 * perhaps 100,000 shards. */
Datum
citus_shard_cost_1(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT4(1);
}

Datum
citus_node_capacity_1(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT4(1);
}

Datum
citus_shard_allowed_on_node_true(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(true);
}

/* A function with that result over these arguments, or an error. */
static void
check_function(Oid function, const char *role, Oid result, int nargs, const Oid *args)
{
	Oid *types;
	int n;

	if (!OidIsValid(function) || get_func_name(function) == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
						errmsg("the %s function does not exist", role)));
	if (get_func_rettype(function) != result)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("signature for %s function is incorrect", role),
				 errdetail("The function must return %s.", format_type_be(result))));
	get_func_signature(function, &types, &n);
	if (n != nargs || memcmp(types, args, sizeof(Oid) * nargs) != 0)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("signature for %s function is incorrect", role),
						errdetail("The arguments have other types than expected.")));
}

static void
check_functions(Oid cost, Oid capacity, Oid allowed)
{
	const Oid shard_args[] = {INT8OID};
	const Oid node_args[] = {INT4OID};
	const Oid both_args[] = {INT8OID, INT4OID};

	check_function(cost, "shard cost", FLOAT4OID, 1, shard_args);
	check_function(capacity, "node capacity", FLOAT4OID, 1, node_args);
	check_function(allowed, "shard allowed on node", BOOLOID, 2, both_args);
}

Datum
citus_validate_rebalance_strategy_functions(PG_FUNCTION_ARGS)
{
	check_functions(PG_GETARG_OID(0), PG_GETARG_OID(1), PG_GETARG_OID(2));
	PG_RETURN_VOID();
}

static Oid
text_to_function(const char *oid)
{
	return oid == NULL ? InvalidOid : (Oid) strtoul(oid, NULL, 10);
}

static char *
strategy_value(const char *column, const char *where)
{
	return sql_value("SELECT %s FROM pg_catalog.pg_dist_rebalance_strategy WHERE %s",
					 column, where);
}

RebalanceStrategy
rebalance_strategy_find(const char *name, bool has_threshold, double threshold,
						bool has_improvement, double improvement)
{
	RebalanceStrategy strategy = {0};
	char *where = name == NULL ? "default_strategy"
							   : psprintf("name = %s", quote_literal_cstr(name));
	double minimum;

	strategy.name = strategy_value("name", where);
	if (strategy.name == NULL && name != NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("could not find rebalance strategy with name %s", name)));
	if (strategy.name == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("there is no default rebalance strategy"),
						errhint("Set one with citus_set_default_rebalance_strategy().")));
	strategy.shard_cost =
		text_to_function(strategy_value("shard_cost_function::oid", where));
	strategy.node_capacity =
		text_to_function(strategy_value("node_capacity_function::oid", where));
	strategy.shard_allowed =
		text_to_function(strategy_value("shard_allowed_on_node_function::oid", where));
	/* They may have been dropped since. */
	check_functions(strategy.shard_cost, strategy.node_capacity, strategy.shard_allowed);
	strategy.threshold =
		has_threshold ? threshold : atof(strategy_value("default_threshold", where));
	minimum = atof(strategy_value("minimum_threshold", where));
	strategy.improvement = has_improvement
							   ? improvement
							   : atof(strategy_value("improvement_threshold", where));

	if (strategy.threshold < minimum)
	{
		ereport(
			WARNING,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the given threshold is lower than the minimum threshold allowed by "
					"the rebalance strategy, using the minimum allowed threshold "
					"instead"),
			 errdetail("Using threshold of %.2f.", minimum)));
		strategy.threshold = minimum;
	}
	return strategy;
}

void
rebalance_lock(void)
{
	Oid relid = get_relname_relid("pg_dist_rebalance_strategy", PG_CATALOG_NAMESPACE);

	if (!ConditionalLockRelationOid(relid, ShareUpdateExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE), errmsg("another rebalance is running"),
				 errhint("Wait for it to end and try again.")));
	foreach_ptr (JobRow, job, catalog_job_open())
	{
		if (strcmp(job->job_type, JOB_TYPE_REBALANCE) == 0)
			ereport(
				ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("another rebalance is running as job " INT64_FORMAT, job->job_id),
				 errhint("Wait for it with citus_rebalance_wait(), or end it with "
						 "citus_rebalance_stop().")));
	}
}
