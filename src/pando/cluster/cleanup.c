/*
 * cleanup.c: what moves make outside of their transactions, and how it is taken away.
 *
 * An *operation* is a move. While it is under way its transaction holds a lock on its id,
 * on the coordinator, which has the rows, whatever node leads the move. Before it makes
 * something on a node there is a row of pg_dist_cleanup, committed on its own; the
 * transaction that switches placements deletes it. So a row whose operation nobody holds
 * is of a move that ended in between: the maintenance worker, or
 * citus_cleanup_orphaned_resources(), has the node take away what it says
 * (move_part.c), and deletes the row with it. A node that fails keeps its rows.
 *
 * Rows of type CLEANUP_TABLE come from administrators or their tools and are obeyed by
 * citus_cleanup_orphaned_resources() alone; a node that can't be reached is an error then
 * and all records stay.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/base/nap.h"
#include "pando/base/sql.h"
#include "pando/base/subtransaction.h"
#include "pando/catalog/cleanup.h"
#include "pando/cluster/cleanup.h"
#include "pando/metadata/shard_relation.h"
#include "pando/metadata/table.h"
#include "pando/transaction/access.h"
#include "pando/transaction/maintenance.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(citus_cleanup_orphaned_resources);
PG_FUNCTION_INFO_V1(move_record);
PG_FUNCTION_INFO_V1(move_operation);
PG_FUNCTION_INFO_V1(move_left);

/* pg_dist_cleanup.object_type */
#define CLEANUP_TABLE 1
#define CLEANUP_MOVE_PART 100 /* of the shard whose id ends the name */

/* pg_dist_cleanup.policy_type */
#define CLEANUP_ON_FAILURE 1

#define CLEANUP_PATIENCE_MS 30000

/* citus.defer_shard_delete_interval */
static int cleanup_interval = 15000;

/* This backend's transaction has an operation under way. */
static bool operating = false;

static bool
operation_lock(int64 operation, bool wait)
{
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (operation >> 32),
						 (uint32) operation, 0);
	tag.locktag_type = LOCKTAG_USERLOCK;
	return LockAcquire(&tag, ExclusiveLock, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

/* ------------------------------------------------------------------------------------
 * Recording.
 */

static void
record_add(int64 operation, const char *name, int32 group)
{
	CleanupRow row = {.operation_id = operation,
					  .object_type = CLEANUP_MOVE_PART,
					  .object_name = (char *) name,
					  .node_group_id = group,
					  .policy_type = CLEANUP_ON_FAILURE};

	catalog_cleanup_add(&row);
}

/*
 * pando.move_record(operation, names of shards, groups): the rows of one operation, of as
 * many parts as the arrays have elements. A made-up row would have somebody else's move
 * undone, so only nodes ask for one.
 */
Datum
move_record(PG_FUNCTION_ARGS)
{
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(2);
	Datum *names;
	int count;

	xact_require_node("pando.move_record()");
	node_require_coordinator();
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &names,
					  NULL, &count);
	if (array_contains_nulls(array))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("parts of a move must not be null")));
	if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) != count)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("array arguments differ in length")));
	for (int i = 0; i < count; i++)
		record_add(PG_GETARG_INT64(0), TextDatumGetCString(names[i]),
				   ((int32 *) ARR_DATA_PTR(array))[i]);
	PG_RETURN_VOID();
}

/* The operation is under way until this transaction ends. */
static void
operation_begin(int64 operation)
{
	(void) operation_lock(operation, true);
	operating = true;
}

static void
operation_end(int64 operation)
{
	foreach_ptr (CleanupRow, row, catalog_cleanup_all())
	{
		if (row->object_type == CLEANUP_MOVE_PART && row->operation_id == operation)
			catalog_cleanup_delete(row->record_id);
	}
}

/* pando.move_operation(operation, begins): another node begins or ends one, in its
 * transaction. */
Datum
move_operation(PG_FUNCTION_ARGS)
{
	xact_require_node("pando.move_operation()");
	node_require_coordinator();
	if (PG_GETARG_BOOL(1))
		operation_begin(PG_GETARG_INT64(0));
	else
		operation_end(PG_GETARG_INT64(0));
	PG_RETURN_VOID();
}

static char *
shard_array(List *shards)
{
	StringInfoData ids;

	initStringInfo(&ids);
	foreach_ptr (int64, id, shards)
		appendStringInfo(&ids, "%s" INT64_FORMAT, ids.len == 0 ? "" : ",", *id);
	return psprintf("{%s}", ids.data);
}

/* The call of move_record(). */
static char *
record_command(int64 operation, List *parts)
{
	List *names = NIL;
	StringInfoData sql, groups;

	initStringInfo(&sql);
	initStringInfo(&groups);
	foreach_ptr (CleanupPart, part, parts)
	{
		names = lappend(names, name_shard_qualified(part->relid, part->shard_id));
		appendStringInfo(&groups, "%s%d", groups.len == 0 ? "" : ",", part->group);
	}
	appendStringInfo(&sql, "SELECT pando.move_record(" INT64_FORMAT ", ", operation);
	sql_append_text_array(&sql, names);
	appendStringInfo(&sql, ", '{%s}')", groups.data);
	return sql.data;
}

/* Has the coordinator begin or end it, in this transaction. */
static void
tell_coordinator(int64 operation, bool begins)
{
	xact_tell_nodes(list_make1((void *) node_by_group(COORDINATOR_GROUP)),
					psprintf("SELECT pando.move_operation(" INT64_FORMAT ", %s)",
							 operation, begins ? "true" : "false"));
}

int64
cleanup_begin(List *parts)
{
	const DistNode *coordinator = node_by_group(COORDINATOR_GROUP);
	NodeAddress address = {.node_id = coordinator->id,
						   .group = coordinator->group,
						   .host = coordinator->host,
						   .port = coordinator->port};
	int64 operation = catalog_cleanup_next_operation();
	Session *session;

	if (node_is_coordinator())
		operation_begin(operation);
	else
		tell_coordinator(operation, true);
	session = session_claim_apart(&address, GetUserId());
	PG_TRY();
	{
		session_result_free(session_run(
			session, access_sign_order(session, record_command(operation, parts))));
	}
	PG_FINALLY();
	{
		session_close(session);
	}
	PG_END_TRY();
	return operation;
}

void
cleanup_end(int64 operation)
{
	if (node_is_coordinator())
		operation_end(operation);
	else
		tell_coordinator(operation, false);
}

static bool
is_about(const CleanupRow *row, List *shards)
{
	if (row->object_type != CLEANUP_MOVE_PART)
		return false;
	foreach_ptr (int64, id, shards)
	{
		if (shard_id_of_name(row->object_name) == *id)
			return true;
	}
	return false;
}

static bool
any_about(List *shards)
{
	foreach_ptr (CleanupRow, row, catalog_cleanup_all())
	{
		if (is_about(row, shards))
			return true;
	}
	return false;
}

/* pando.move_left(shards): is something left of earlier operations on them? Then it is
 * taken away soon. */
Datum
move_left(PG_FUNCTION_ARGS)
{
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(0);
	Datum *ids;
	int count;
	List *shards = NIL;

	xact_require_node("pando.move_left()");
	node_require_coordinator();
	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &ids, NULL, &count);
	for (int i = 0; i < count; i++)
	{
		int64 *id = palloc(sizeof(int64));

		*id = DatumGetInt64(ids[i]);
		shards = lappend(shards, id);
	}
	if (!any_about(shards))
		PG_RETURN_BOOL(false);
	maintenance_want(WISH_CLEANUP);
	PG_RETURN_BOOL(true);
}

static bool
something_left(List *shards)
{
	const char *command;

	if (!node_is_coordinator())
	{
		command = psprintf("SELECT pando.move_left('%s')", shard_array(shards));
		return strcmp(xact_value_told(node_by_group(COORDINATOR_GROUP), command), "t") ==
			   0;
	}
	if (!any_about(shards))
		return false;
	maintenance_want(WISH_CLEANUP);
	return true;
}

void
cleanup_await(List *shards)
{
	TimestampTz end =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CLEANUP_PATIENCE_MS);

	while (shards != NIL && something_left(shards))
	{
		if (GetCurrentTimestamp() > end)
			ereport(
				ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("an interrupted move has left something of shard " INT64_FORMAT
						" that could not be taken away",
						*(int64 *) linitial(shards)),
				 errhint("citus_cleanup_orphaned_resources() tells why.")));
		nap(100);
	}
}

/* ------------------------------------------------------------------------------------
 * Taking away.
 */

static const DistNode *
node_of_group(int32 group)
{
	foreach_ptr (const DistNode, node, node_list(NODES_ALL))
	{
		if (node->group == group)
			return node;
	}
	return NULL;
}

typedef struct Undo
{
	const DistNode *node;
	List *shards;
} Undo;

static void
undo(void *arg)
{
	const Undo *what = arg;

	xact_run_on_nodes(
		list_make1((void *) what->node),
		psprintf("SELECT pando.move_undo('%s')", shard_array(what->shards)));
}

/* The node takes away what is left there of the operations; false if it could not. */
static bool
undo_on(const DistNode *node, List *shards)
{
	Undo what = {node, shards};
	ErrorData *error = subtransaction_try(undo, &what, true);

	if (error == NULL)
		return true;
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED ||
		error->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN)
		ReThrowError(error);
	ereport(WARNING, (errcode(error->sqlerrcode),
					  errmsg("could not take away what an interrupted move left on %s:%d",
							 node->host, node->port),
					  errdetail("%s", error->message)));
	return false;
}

/* Ends all that interrupted moves have left; returns how many records that were. */
static int
undo_moves(void)
{
	List *orphans = NIL;
	int count = 0;

	foreach_ptr (CleanupRow, row, catalog_cleanup_all())
	{
		if (row->object_type == CLEANUP_MOVE_PART &&
			operation_lock(row->operation_id, false))
			orphans = lappend(orphans, row);
	}
	while (orphans != NIL)
	{
		int32 group = ((CleanupRow *) linitial(orphans))->node_group_id;
		const DistNode *node = node_of_group(group);
		List *shards = NIL;
		List *later = NIL;
		List *records = NIL;

		foreach_ptr (CleanupRow, row, orphans)
		{
			int64 *id;

			if (row->node_group_id != group)
			{
				later = lappend(later, row);
				continue;
			}
			id = palloc(sizeof(int64));
			*id = shard_id_of_name(row->object_name);
			shards = lappend(shards, id);
			records = lappend(records, row);
		}
		orphans = later;
		if (node != NULL && !undo_on(node, shards))
			continue;
		foreach_ptr (CleanupRow, row, records)
			count += catalog_cleanup_delete(row->record_id) ? 1 : 0;
	}
	return count;
}

static int
drop_tables(void)
{
	int dropped = 0;

	foreach_ptr (CleanupRow, row, catalog_cleanup_all())
	{
		const DistNode *node = node_of_group(row->node_group_id);

		if (row->object_type != CLEANUP_TABLE)
			continue;
		if (node != NULL)
			xact_run_on_nodes(
				list_make1((void *) node),
				psprintf("DROP TABLE IF EXISTS %s CASCADE", row->object_name));
		catalog_cleanup_delete(row->record_id);
		dropped++;
	}
	return dropped;
}

Datum
citus_cleanup_orphaned_resources(PG_FUNCTION_ARGS)
{
	int dropped;

	node_require_coordinator();
	dropped = undo_moves() + drop_tables();
	if (dropped > 0)
		ereport(NOTICE, (errmsg("cleaned up %d orphaned resources", dropped)));
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * The maintenance job.
 */

static int
job_interval(void)
{
	return cleanup_interval;
}

static void
job_run(void)
{
	int count;

	if (!metadata_active() || !node_is_coordinator())
		return;
	count = undo_moves();
	if (count > 0)
		ereport(LOG, (errmsg("took away %d things that interrupted moves left", count)));
}

/* A move that failed: what it left goes soon. */
static void
operation_ends(XactMoment moment, bool committed)
{
	if (moment != XACT_MOMENT_END || !operating)
		return;
	operating = false;
	if (!committed)
		maintenance_want(WISH_CLEANUP);
}

void
cleanup_init(void)
{
	static const MaintenanceJob job = {.name = "cleanup after moves",
									   .interval = job_interval,
									   .run = job_run,
									   .wish = WISH_CLEANUP};

	DefineCustomIntVariable(
		"citus.defer_shard_delete_interval",
		"Time between attempts to take away what interrupted moves left.",
		"-1 leaves that to citus_cleanup_orphaned_resources().", &cleanup_interval, 15000,
		-1, 7 * 24 * 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	maintenance_register(&job);
	xact_register(operation_ends);
}
