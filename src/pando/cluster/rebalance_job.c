/*
 * rebalance_job.c: a rebalance as a background job, one task per move.
 *
 * The plan is made here and now; its moves run later, each in a transaction of its own,
 * as the role that asked for it. Moves of one colocation group exclude each other by
 * their locks, so each waits for the one before; those of different groups go side by
 * side where they concern different nodes (citus.max_background_task_executors_per_node).
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pando/base/debug_point.h"
#include "pando/base/int_map.h"
#include "pando/catalog/job.h"
#include "pando/cluster/move.h"
#include "pando/cluster/rebalance_plan.h"
#include "pando/cluster/rebalance_strategy.h"
#include "pando/metadata/table.h"
#include "pando/transaction/maintenance.h"

PG_FUNCTION_INFO_V1(citus_rebalance_start);

/* Executors log in as the role. */
static void
require_login(void)
{
	HeapTuple tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId()));
	bool can_login =
		HeapTupleIsValid(tuple) && ((Form_pg_authid) GETSTRUCT(tuple))->rolcanlogin;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	if (!can_login)
		ereport(ERROR, (errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
						errmsg("role \"%s\" is not permitted to log in, so it can't have "
							   "background tasks",
							   GetUserNameFromId(GetUserId(), true)),
						errhint("Start the rebalance as a role that can log in.")));
}

static void
require_owner(const DistTable *table)
{
	ListCell *cell;

	foreach (cell, shard_group_tables(table))
	{
		if (!compat_owns_relation(lfirst_oid(cell), GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE,
						   get_rel_name(lfirst_oid(cell)));
	}
}

/* The task of a move: what it is to run and where. */
static TaskRow *
task_make(int64 job_id, const RebalanceMove *move, const char *mode)
{
	TaskRow *task = palloc0(sizeof(TaskRow));

	task->job_id = job_id;
	task->task_id = catalog_task_next_id();
	task->owner = GetUserId();
	task->pid = -1;
	task->status = "runnable";
	task->command = psprintf("SELECT pg_catalog.citus_move_shard_placement(" INT64_FORMAT
							 ",%d,%d,'%s')",
							 move->shard_id, move->source->id, move->target->id, mode);
	task->nodes_involved = list_make2_int(move->source->id, move->target->id);
	return task;
}

/* A row for each move, and for what it waits for. */
static void
tasks_add(int64 job_id, List *moves, const char *mode)
{
	IntMap *last_of_group = int_map_create();
	IntMap *last_of_table = int_map_create();
	List *tasks = NIL;
	List *depends = NIL;

	foreach_ptr (RebalanceMove, move, moves)
	{
		const DistTable *table;
		TaskRow *task = task_make(job_id, move, mode);
		TaskRow **last;

		DEBUG_STEPS(1);
		CHECK_FOR_INTERRUPTS();
		(void) shard_by_id(move->shard_id, &table);
		last = (TaskRow **) (table->colocation != 0
								 ? int_map_at(last_of_group, table->colocation)
								 : int_map_at(last_of_table, (int32) table->relid));
		if (*last == NULL)
			require_owner(table);
		else
		{
			TaskDependRow *depend = palloc0(sizeof(TaskDependRow));

			depend->job_id = job_id;
			depend->task_id = task->task_id;
			depend->depends_on = (*last)->task_id;
			depends = lappend(depends, depend);
			task->status = "blocked";
		}
		*last = task;
		tasks = lappend(tasks, task);
	}
	catalog_task_add_all(tasks);
	catalog_task_depend_add_all(depends);
}

/* citus_rebalance_start(rebalance_strategy, drain_only, shard_transfer_mode,
 * parallel_transfer_reference_tables, parallel_transfer_colocated_shards) */
Datum
citus_rebalance_start(PG_FUNCTION_ARGS)
{
	RebalanceRequest request = {.max_moves = INT_MAX};
	JobRow job = {.state = "scheduled",
				  .job_type = JOB_TYPE_REBALANCE,
				  .description = "Rebalance all colocation groups"};
	const char *mode;
	List *moves;

	for (int i = 1; i < 5; i++)
	{
		if (PG_ARGISNULL(i))
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("only the strategy of a rebalance can be NULL")));
	}
	node_require_coordinator();
	require_login();
	mode = DatumGetCString(OidFunctionCall1(F_ENUM_OUT, PG_GETARG_DATUM(2)));
	rebalance_lock();
	request.drain_only = PG_GETARG_BOOL(1);
	request.strategy = rebalance_strategy_find(
		PG_ARGISNULL(0) ? NULL : NameStr(*PG_GETARG_NAME(0)), false, 0, false, 0);
	moves = rebalance_plan(&request);
	if (moves == NIL)
	{
		ereport(NOTICE, (errmsg("no shard needs to be moved")));
		PG_RETURN_NULL();
	}
	if (PG_GETARG_BOOL(4))
		ereport(NOTICE,
				(errmsg("shards of one colocation group move one after the other")));

	catalog_job_add(&job);
	tasks_add(job.job_id, moves, mode);
	CommandCounterIncrement();
	maintenance_want_at_commit(WISH_TASKS);
	ereport(NOTICE, (errmsg("scheduled %d moves as job " INT64_FORMAT, list_length(moves),
							job.job_id),
					 errhint("citus_rebalance_status() shows how far they are.")));
	PG_RETURN_INT64(job.job_id);
}
