/*
 * rebalance.c: the SQL functions that plan shard moves and carry them out.
 *
 * rebalance_table_shards() as a statement of its own has each move of a plan made by a
 * session beside this one, online and with a commit of its own: what has moved stays when
 * a later move fails. Moves of different colocation groups between different nodes go
 * side by side. Where it is part of a transaction block, or of a function, or holds
 * locks that a move would wait for, all moves are part of that transaction, and their
 * switches come together (group_switch.c). One rebalance or change of strategies runs at
 * a time: each takes a lock on pg_dist_rebalance_strategy that conflicts with itself.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "pando/base/debug_point.h"
#include "pando/base/int_map.h"
#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/cluster/group_switch.h"
#include "pando/cluster/move.h"
#include "pando/cluster/move_progress.h"
#include "pando/cluster/rebalance_plan.h"
#include "pando/cluster/rebalance_strategy.h"
#include "pando/cluster/shard_size.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(rebalance_table_shards);
PG_FUNCTION_INFO_V1(get_rebalance_table_shards_plan);
PG_FUNCTION_INFO_V1(replicate_table_shards);
PG_FUNCTION_INFO_V1(citus_drain_node);

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
	request.strategy = rebalance_strategy_find(optional_name(fcinfo, 5), !PG_ARGISNULL(1),
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

/* Does this transaction hold a lock on the table, such as the statement's own? */
static bool
is_locked_here(Oid relid)
{
	LOCKTAG tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	for (LOCKMODE mode = AccessShareLock; mode <= AccessExclusiveLock; mode++)
	{
		if (compat_lock_is_held(&tag, mode))
			return true;
	}
	return false;
}

/* May each move be a transaction of its own? */
static bool
may_move_apart(List *moves)
{
	IntMap *seen = int_map_create();

	if (xact_must_join() || node_local() == NULL)
		return false;
	foreach_ptr (RebalanceMove, move, moves)
	{
		const DistTable *table;
		ListCell *cell;

		(void) shard_by_id(move->shard_id, &table);
		if (!int_map_first(seen, (int32) table->relid))
			continue;
		foreach (cell, shard_group_tables(table))
		{
			if (is_locked_here(lfirst_oid(cell)))
				return false;
		}
	}
	return true;
}

static Session *
session_beside(void)
{
	const DistNode *here = node_local();
	NodeAddress address = {.node_id = here->id,
						   .group = here->group,
						   .host = here->host,
						   .port = here->port};

	return session_claim_apart(&address, GetUserId());
}

static void
say_move(const RebalanceMove *move)
{
	ereport(NOTICE, (errmsg("Moving shard %lld from %s:%d to %s:%d ...",
							(long long) move->shard_id, move->source->host,
							move->source->port, move->target->host, move->target->port)));
}

/* One of the moves that are made apart. */
typedef struct ApartMove
{
	const RebalanceMove *move;
	int32 group; /* colocation group; 0: none but the table's own */
	Oid table;
	Session *session; /* NULL: it has not begun */
} ApartMove;

static List *
apart_moves(List *moves)
{
	List *apart = NIL;

	foreach_ptr (RebalanceMove, move, moves)
	{
		ApartMove *one = palloc0(sizeof(ApartMove));
		const DistTable *table;

		(void) shard_by_id(move->shard_id, &table);
		one->move = move;
		one->group = table->colocation;
		one->table = table->relid;
		apart = lappend(apart, one);
	}
	return apart;
}

/* Moves of one colocation group would wait for each other's locks, and two of one node
 * share its disk and its network. */
static bool
go_together(const ApartMove *a, const ApartMove *b)
{
	bool same_group = a->group != 0 ? a->group == b->group : a->table == b->table;

	return !same_group && a->move->source->id != b->move->source->id &&
		   a->move->source->id != b->move->target->id &&
		   a->move->target->id != b->move->source->id &&
		   a->move->target->id != b->move->target->id;
}

static bool
may_begin(const ApartMove *one, List *running)
{
	foreach_ptr (ApartMove, other, running)
	{
		if (!go_together(one, other))
			return false;
	}
	return true;
}

static void
begin_move(ApartMove *one, const char *mode)
{
	const RebalanceMove *move = one->move;

	say_move(move);
	move_progress_forget(move->shard_id);
	one->session = session_beside();
	session_send_simple(
		one->session,
		psprintf("SELECT pg_catalog.citus_move_shard_placement(" INT64_FORMAT
				 ", %d, %d, '%s')",
				 move->shard_id, move->source->id, move->target->id, mode));
}

/* Takes what the session has; raises if the move failed. Is it over? */
static bool
is_done(Session *session)
{
	PGresult *result;

	while ((result = session_result(session)) != NULL)
	{
		if (PQresultStatus(result) == PGRES_FATAL_ERROR)
			session_raise(session, result, ERROR);
		session_result_free(result);
	}
	if (session->state == SESSION_DEAD)
		session_raise_lost(session, ERROR);
	return session->state == SESSION_IDLE;
}

/* Waits until one of those under way is done. */
static ApartMove *
await_move(List *running)
{
	List *sessions = NIL;

	foreach_ptr (ApartMove, one, running)
		sessions = lappend(sessions, one->session);
	for (;;)
	{
		foreach_ptr (ApartMove, one, running)
		{
			if (is_done(one->session))
				return one;
		}
		(void) session_wait_any(sessions, -1);
	}
}

/* Each is committed when it is done; those of different groups and nodes go side by
 * side. */
static void
move_apart(List *moves, Oid mode)
{
	const char *label =
		DatumGetCString(OidFunctionCall1(F_ENUM_OUT, ObjectIdGetDatum(mode)));
	List *waiting = apart_moves(moves);
	List *volatile running = NIL;

	PG_TRY();
	{
		while (waiting != NIL || running != NIL)
		{
			ApartMove *done;
			ListCell *cell;

			foreach (cell, waiting)
			{
				CHECK_FOR_INTERRUPTS();
				if (!may_begin(lfirst(cell), running))
					continue;
				begin_move(lfirst(cell), label);
				running = lappend(running, lfirst(cell));
				waiting = foreach_delete_current(waiting, cell);
			}
			done = await_move(running);
			running = list_delete_ptr(running, done);
			session_close(done->session);
			DEBUG_POINT("rebalance-after-move");
		}
	}
	PG_CATCH();
	{
		/* Moves that are not over are undone. */
		foreach_ptr (ApartMove, one, running)
		{
			session_cancel(one->session);
			session_close(one->session);
		}
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* As parts of this transaction. Their switches wait for each other, so that all can be
 * online. */
static void
move_here(List *moves, TransferMode mode)
{
	group_switch_enter();
	PG_TRY();
	{
		foreach_ptr (RebalanceMove, move, moves)
		{
			say_move(move);
			shard_group_move(move->shard_id, move->source, move->target, MOVE_PLACEMENT,
							 mode);
		}
	}
	PG_FINALLY();
	{
		group_switch_leave();
	}
	PG_END_TRY();
}

static void
rebalance(const RebalanceRequest *request, Oid mode)
{
	List *moves = rebalance_plan(request);

	if (moves == NIL)
		return;
	foreach_ptr (RebalanceMove, move, moves)
		move_progress_add(move->shard_id, move->source, move->target, MOVE_PLACEMENT);
	if (may_move_apart(moves))
		move_apart(moves, mode);
	else
		move_here(moves, transfer_mode(mode));
}

/* rebalance_table_shards(relation, threshold, max_shard_moves, excluded_shard_list,
 * shard_transfer_mode, drain_only, rebalance_strategy) */
Datum
rebalance_table_shards(PG_FUNCTION_ARGS)
{
	RebalanceRequest request;

	node_require_coordinator();
	require_argument(fcinfo, 4, "shard_transfer_mode");
	require_argument(fcinfo, 5, "drain_only");
	request = request_from_arguments(fcinfo);
	request.drain_only = PG_GETARG_BOOL(5);
	rebalance_lock();
	request.strategy = rebalance_strategy_find(optional_name(fcinfo, 6), !PG_ARGISNULL(1),
											   optional_real(fcinfo, 1), false, 0);

	rebalance(&request, PG_GETARG_OID(4));
	PG_RETURN_VOID();
}

/*
 * citus_drain_node(host, port, shard_transfer_mode, rebalance_strategy): no shards come
 * to the node any more, and those that it has leave it. As a statement of its own the
 * first of it stays when a move fails.
 */
Datum
citus_drain_node(PG_FUNCTION_ARGS)
{
	RebalanceRequest request = {.max_moves = INT_MAX, .drain_only = true};
	char *sql;

	for (int i = 0; i < 3; i++)
	{
		if (PG_ARGISNULL(i))
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("argument %d must not be null", i + 1)));
	}
	node_require_coordinator();
	sql = psprintf("SELECT pg_catalog.citus_set_node_property(%s, %d, "
				   "'shouldhaveshards', false)",
				   quote_literal_cstr(text_to_cstring(PG_GETARG_TEXT_PP(0))),
				   PG_GETARG_INT32(1));
	if (!xact_must_join() && node_local() != NULL)
	{
		Session *session = session_beside();

		PG_TRY();
		{
			session_result_free(session_run(session, sql));
		}
		PG_FINALLY();
		{
			session_close(session);
		}
		PG_END_TRY();
		AcceptInvalidationMessages();
	}
	else
		sql_run("%s", sql);
	rebalance_lock();
	request.strategy =
		rebalance_strategy_find(optional_name(fcinfo, 3), false, 0, false, 0);
	rebalance(&request, PG_GETARG_OID(2));
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
 * returns how many copies are made, at most `limit`. */
static int
replicate_shard(Oid relid, int index, int wanted, int limit, TransferMode mode)
{
	const DistTable *table = dist_table_require(relid);
	const Shard *shard = &table->shards[index];
	List *nodes = node_list(NODES_WITH_SHARDS);
	List *targets = NIL;

	if (shard->nplacements == 0)
		return 0;
	for (int i = 0; i < list_length(nodes) && list_length(targets) < limit &&
					shard->nplacements + list_length(targets) < wanted;
		 i++)
	{
		/* Shards start at different nodes, so that copies are spread. */
		const DistNode *target = list_nth(nodes, (index + i) % list_length(nodes));

		if (has_placement(shard, target->group))
			continue;
		ereport(NOTICE, (errmsg("Replicating shard %lld to %s:%d ...",
								(long long) shard->id, target->host, target->port)));
		targets = lappend(targets, (void *) target);
	}
	if (targets != NIL)
		shard_group_copy(shard->id, node_by_group(shard->placements[0].group), targets,
						 mode);
	return list_length(targets);
}

/* replicate_table_shards(relation, shard_replication_factor, max_shard_copies,
 * excluded_shard_list, shard_transfer_mode) */
Datum
replicate_table_shards(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	int wanted = PG_GETARG_INT32(1);
	int limit = PG_GETARG_INT32(2);
	TransferMode mode = transfer_mode(PG_GETARG_OID(4));
	List *excluded = shard_list(PG_GETARG_ARRAYTYPE_P(3));
	int nshards = dist_table_require(relid)->nshards;

	node_require_coordinator();
	if (wanted > list_length(node_list(NODES_WITH_SHARDS)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("shard_replication_factor %d exceeds the number of nodes (%d)",
						wanted, list_length(node_list(NODES_WITH_SHARDS)))));
	rebalance_lock();
	for (int i = 0; i < nshards && limit > 0; i++)
	{
		bool skip = false;

		foreach_ptr (int64, id, excluded)
			skip |= *id == dist_table_require(relid)->shards[i].id;
		if (!skip)
			limit -= replicate_shard(relid, i, wanted, limit, mode);
	}
	PG_RETURN_VOID();
}
