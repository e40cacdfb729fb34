/*
 * rebalance.c: the SQL functions that plan shard moves and carry them out.
 *
 * rebalance_table_shards() runs all moves of a plan in the caller's transaction. One
 * rebalance or change of strategies runs at a time: each takes a lock on
 * pg_dist_rebalance_strategy that conflicts with itself.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/cluster/move.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/rebalance_plan.h"
#include "pando/cluster/shard_size.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(rebalance_table_shards);
PG_FUNCTION_INFO_V1(get_rebalance_table_shards_plan);
PG_FUNCTION_INFO_V1(replicate_table_shards);
PG_FUNCTION_INFO_V1(citus_validate_rebalance_strategy_functions);

/* ------------------------------------------------------------------------------------
 * Strategies.
 */

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

Datum
citus_validate_rebalance_strategy_functions(PG_FUNCTION_ARGS)
{
	const Oid shard_args[] = {INT8OID};
	const Oid node_args[] = {INT4OID};
	const Oid both_args[] = {INT8OID, INT4OID};

	check_function(PG_GETARG_OID(0), "shard cost", FLOAT4OID, 1, shard_args);
	check_function(PG_GETARG_OID(1), "node capacity", FLOAT4OID, 1, node_args);
	check_function(PG_GETARG_OID(2), "shard allowed on node", BOOLOID, 2, both_args);
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

/* The strategy of that name; the default one for NULL. */
static RebalanceStrategy
strategy_find(const char *name, bool has_threshold, double threshold,
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

/* ------------------------------------------------------------------------------------
 * Plans.
 */

static List *
shard_list(ArrayType *array)
{
	List *list = NIL;
	Datum *values;
	bool *nulls;
	int n;

	deconstruct_array(array, INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values,
					  &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		int64 *id;

		if (nulls[i])
			continue;
		id = palloc(sizeof(int64));
		*id = DatumGetInt64(values[i]);
		list = lappend(list, id);
	}
	return list;
}

static void
require_argument(FunctionCallInfo fcinfo, int number, const char *name)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s cannot be NULL", name)));
}

/* The table whose group is to be rebalanced, and which the caller must own. */
static Oid
target_table(FunctionCallInfo fcinfo)
{
	Oid relid;

	if (PG_ARGISNULL(0))
		return InvalidOid;
	relid = PG_GETARG_OID(0);
	if (get_rel_name(relid) == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relid)));
	if (!dist_table_is_sharded(dist_table_require(relid)))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("table %s is not a distributed table, only the shards of "
							   "distributed tables can be rebalanced",
							   name_qualified(relid))));
	return relid;
}

/* Arguments that both functions have in the same places: table, threshold, moves,
 * excluded. */
static RebalanceRequest
request_from_arguments(FunctionCallInfo fcinfo)
{
	RebalanceRequest request = {0};

	require_argument(fcinfo, 2, "max_shard_moves");
	require_argument(fcinfo, 3, "excluded_shard_list");
	request.relid = target_table(fcinfo);
	request.max_moves = PG_GETARG_INT32(2);
	request.excluded = shard_list(PG_GETARG_ARRAYTYPE_P(3));
	return request;
}

static double
optional_real(FunctionCallInfo fcinfo, int number)
{
	return PG_ARGISNULL(number) ? 0 : PG_GETARG_FLOAT4(number);
}

static const char *
optional_name(FunctionCallInfo fcinfo, int number)
{
	return PG_ARGISNULL(number) ? NULL : NameStr(*PG_GETARG_NAME(number));
}

/* get_rebalance_table_shards_plan(relation, threshold, max_shard_moves,
 * excluded_shard_list, drain_only, rebalance_strategy, improvement_threshold) */
Datum
get_rebalance_table_shards_plan(PG_FUNCTION_ARGS)
{
	RebalanceRequest request = request_from_arguments(fcinfo);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	require_argument(fcinfo, 4, "drain_only");
	request.drain_only = PG_GETARG_BOOL(4);
	request.strategy = strategy_find(optional_name(fcinfo, 5), !PG_ARGISNULL(1),
									 optional_real(fcinfo, 1), !PG_ARGISNULL(6),
									 optional_real(fcinfo, 6));
	InitMaterializedSRF(fcinfo, 0);

	foreach_ptr (RebalanceMove, move, rebalance_plan(&request))
	{
		const DistTable *table;
		int index = shard_by_id(move->shard_id, &table)->index;
		ListCell *cell;

		foreach (cell, shard_group_tables(table))
		{
			const DistTable *member = dist_table_require(lfirst_oid(cell));
			bool nulls[7] = {0};
			Datum values[7];

			values[0] = ObjectIdGetDatum(member->relid);
			values[1] = Int64GetDatum(member->shards[index].id);
			values[2] = Int64GetDatum(shard_size(member, index));
			values[3] = CStringGetTextDatum(move->source->host);
			values[4] = Int32GetDatum(move->source->port);
			values[5] = CStringGetTextDatum(move->target->host);
			values[6] = Int32GetDatum(move->target->port);
			tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		}
	}
	return (Datum) 0;
}

/* One at a time. */
static void
lock_rebalance(void)
{
	Oid relid = get_relname_relid("pg_dist_rebalance_strategy", PG_CATALOG_NAMESPACE);

	if (!ConditionalLockRelationOid(relid, ShareUpdateExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE), errmsg("another rebalance is running"),
				 errhint("Wait for it to end and try again.")));
}

/* rebalance_table_shards(relation, threshold, max_shard_moves, excluded_shard_list,
 * shard_transfer_mode, drain_only, rebalance_strategy) */
Datum
rebalance_table_shards(PG_FUNCTION_ARGS)
{
	RebalanceRequest request;
	TransferMode mode;
	List *moves;

	node_require_coordinator();
	require_argument(fcinfo, 4, "shard_transfer_mode");
	require_argument(fcinfo, 5, "drain_only");
	mode = transfer_mode_of_many(PG_GETARG_OID(4));
	request = request_from_arguments(fcinfo);
	request.drain_only = PG_GETARG_BOOL(5);
	lock_rebalance();
	request.strategy = strategy_find(optional_name(fcinfo, 6), !PG_ARGISNULL(1),
									 optional_real(fcinfo, 1), false, 0);

	moves = rebalance_plan(&request);
	foreach_ptr (RebalanceMove, move, moves)
		move_progress_add(move->shard_id, move->source, move->target, MOVE_PLACEMENT);
	foreach_ptr (RebalanceMove, move, moves)
	{
		ereport(NOTICE,
				(errmsg("Moving shard %lld from %s:%d to %s:%d ...",
						(long long) move->shard_id, move->source->host,
						move->source->port, move->target->host, move->target->port)));
		shard_group_move(move->shard_id, move->source, move->target, MOVE_PLACEMENT,
						 mode);
	}
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * More copies.
 */

static bool
has_placement(const Shard *shard, int32 group)
{
	for (int i = 0; i < shard->nplacements; i++)
	{
		if (shard->placements[i].group == group)
			return true;
	}
	return false;
}

/* Copies shard number `index` to nodes that have none of it until there are `wanted`;
 * returns how many copies were made, at most `limit`. */
static int
replicate_shard(Oid relid, int index, int wanted, int limit)
{
	const DistTable *table = dist_table_require(relid);
	const Shard *shard = &table->shards[index];
	List *nodes = node_list(NODES_WITH_SHARDS);
	int nplacements = shard->nplacements;
	int made = 0;

	if (nplacements == 0)
		return 0;
	for (int i = 0; i < list_length(nodes) && nplacements < wanted && made < limit; i++)
	{
		/* Shards start at different nodes, so that copies are spread. */
		const DistNode *target = list_nth(nodes, (index + i) % list_length(nodes));

		if (has_placement(shard, target->group))
			continue;
		ereport(NOTICE, (errmsg("Replicating shard %lld to %s:%d ...",
								(long long) shard->id, target->host, target->port)));
		shard_group_move(shard->id, node_by_group(shard->placements[0].group), target,
						 COPY_PLACEMENT, TRANSFER_BLOCKING);
		nplacements++;
		made++;
	}
	return made;
}

/* replicate_table_shards(relation, shard_replication_factor, max_shard_copies,
 * excluded_shard_list, shard_transfer_mode) */
Datum
replicate_table_shards(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	int wanted = PG_GETARG_INT32(1);
	int limit = PG_GETARG_INT32(2);
	List *excluded = shard_list(PG_GETARG_ARRAYTYPE_P(3));
	int nshards = dist_table_require(relid)->nshards;

	node_require_coordinator();
	(void) transfer_mode_of_many(PG_GETARG_OID(4));
	if (wanted > list_length(node_list(NODES_WITH_SHARDS)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("shard_replication_factor %d exceeds the number of nodes (%d)",
						wanted, list_length(node_list(NODES_WITH_SHARDS)))));
	lock_rebalance();
	for (int i = 0; i < nshards && limit > 0; i++)
	{
		bool skip = false;

		foreach_ptr (int64, id, excluded)
			skip |= *id == dist_table_require(relid)->shards[i].id;
		if (!skip)
			limit -= replicate_shard(relid, i, wanted, limit);
	}
	PG_RETURN_VOID();
}
