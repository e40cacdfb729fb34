/*
 * utility.c: the ProcessUtility hook, and the same way through on the nodes that a
 * statement is sent to.
 *
 * On the node that leads (lead.c): prepare -> shell here -> what the tables newly depend
 * on -> the statement's text to every other node (pando.ddl_apply) -> this node's shards
 * -> finish. All in one distributed transaction; the shell's lock, taken on the
 * coordinator first, keeps two such statements apart. On another node: prepare -> shell
 * -> shards -> finish.
 *
 * A statement that runs inside another one (PROCESS_UTILITY_SUBCOMMAND) is that one's
 * business. Commands that arrive over a connection of another node, and those that run
 * while a statement is being applied, are taken as they are.
 */
#include "pando/compat/compat.h"

#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/event_trigger.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parser.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pando/base/debug_point.h"
#include "pando/base/hook.h"
#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/object.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/drop.h"
#include "pando/ddl/handler.h"
#include "pando/ddl/lead.h"
#include "pando/ddl/local_lead.h"
#include "pando/ddl/lock_list.h"
#include "pando/ddl/local_shell.h"
#include "pando/ddl/row_expressions.h"
#include "pando/ddl/settings.h"
#include "pando/ddl/utility.h"
#include "pando/executor/kept_rows.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/planner/hook.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(ddl_apply);

static bool collect_local = false;
static bool with_managed_local = false; /* the handler wants to know of those, too */
static List *seen_local = NIL; /* tables without shards that handlers asked about */
static LOCKMODE wait_mode = RowExclusiveLock; /* handlers wait for tables like this ... */
static bool wait_never = false;				  /* ... or not at all */
static int apply_depth = 0;			  /* statements of the propagation itself under way */
static bool called_by_client = false; /* ddl_apply() that no node asked for */
static DdlJob *in_shell = NULL;		  /* its statement is what PostgreSQL runs */

PlannedStmt *
utility_wrap(Node *stmt)
{
	PlannedStmt *wrapper = makeNode(PlannedStmt);

	wrapper->commandType = CMD_UTILITY;
	wrapper->utilityStmt = stmt;
	wrapper->stmt_location = -1;
	return wrapper;
}

void
utility_apply_statement(Node *stmt, const char *source, ProcessUtilityContext context)
{
	PlannedStmt *wrapper = utility_wrap(stmt);

	apply_depth++;
	PG_TRY();
	{
		ProcessUtility(wrapper, source, false, context, NULL, NULL, None_Receiver, NULL);
	}
	PG_FINALLY();
	{
		apply_depth--;
	}
	PG_END_TRY();
}

void
utility_apply_call(void (*function)(void *arg), void *arg)
{
	apply_depth++;
	PG_TRY();
	{
		function(arg);
	}
	PG_FINALLY();
	{
		apply_depth--;
	}
	PG_END_TRY();
}

static void
run_as_is(void *sql)
{
	(void) sql_run_as_is(sql);
}

void
utility_apply_sql(const char *sql)
{
	utility_apply_call(run_as_is, unconstify(char *, sql));
}

bool
utility_is_applying(void)
{
	return apply_depth > 0;
}

bool
utility_is_internal(void)
{
	static const char prefix[] = "citus_internal gpid=";

	return application_name != NULL &&
		   strncmp(application_name, prefix, sizeof(prefix) - 1) == 0 &&
		   !xact_serves_call() && !xact_is_relaying() && !xact_serves_statement();
}

bool
utility_maybe_nodes_own(void)
{
	return apply_depth > 0 || xact_is_for_node();
}

bool
utility_is_in_shell(void)
{
	return in_shell != NULL || plan_shells;
}

bool
utility_is_nodes_own(void)
{
	return (apply_depth > 0 && !called_by_client) ||
		   (xact_is_proven_for_node() && !xact_serves_call());
}

bool
utility_is_clients(void)
{
	return !creating_extension && !utility_is_applying() && !utility_is_internal() &&
		   ddl_propagation_enabled && metadata_active();
}

/* ------------------------------------------------------------------------------------
 * For handlers
 */

/* Sets how handlers of the statement wait for tables: never where PostgreSQL doesn't. */
static void
take_wait(const Node *stmt)
{
	wait_mode = RowExclusiveLock;
	wait_never = false;
	if (IsA(stmt, LockStmt))
	{
		wait_mode = Min(((const LockStmt *) stmt)->mode, RowExclusiveLock);
		wait_never = ((const LockStmt *) stmt)->nowait;
	}
	else if (IsA(stmt, VacuumStmt))
	{
		foreach_ptr (DefElem, option, ((const VacuumStmt *) stmt)->options)
		{
			if (strcmp(option->defname, "skip_locked") == 0)
				wait_never = defGetBoolean(option);
		}
	}
}

/*
 * Waits until nobody is making the table distributed or local, or moves its shards. The
 * lock is not kept: the statement takes its own, which may be stronger, and two that
 * raise theirs would deadlock. Who has no right on the table at all doesn't wait: he gets
 * PostgreSQL's error. A statement that didn't wait is one that came before the
 * conversion, or check_still_local() finds out.
 */
static void
await_conversion(Oid relid)
{
	bool missing = false;

	if (pg_class_aclcheck_ext(relid, GetUserId(), ACL_ALL_RIGHTS_RELATION, &missing) !=
			ACLCHECK_OK ||
		missing)
		return;
	if (!wait_never)
		LockRelationOid(relid, wait_mode);
	else if (!ConditionalLockRelationOid(relid, wait_mode))
		return;
	UnlockRelationOid(relid, wait_mode);
}

/* Raises if a table became distributed while the statement waited for its lock. */
static void
check_still_local(List *relids)
{
	ListCell *cell;

	foreach (cell, relids)
	{
		const DistTable *table = dist_table(lfirst_oid(cell));

		if (table != NULL && table->kind != TABLE_MANAGED_LOCAL)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("table %s was distributed while the statement waited for it",
							name_qualified(lfirst_oid(cell))),
					 errhint("Run the statement again.")));
	}
}

bool
job_table_has_shards(Oid relid)
{
	if (!OidIsValid(relid))
		return false;
	await_conversion(relid);
	if (dist_table(relid) != NULL &&
		(dist_table(relid)->kind != TABLE_MANAGED_LOCAL || with_managed_local))
		return true;
	if (collect_local)
		seen_local = list_append_unique_oid(seen_local, relid);
	return false;
}

Oid
job_distributed_table(RangeVar *relation)
{
	Oid relid;

	if (relation == NULL)
		return InvalidOid;
	relid = RangeVarGetRelid(relation, NoLock, true);
	return job_table_has_shards(relid) ? relid : InvalidOid;
}

void
job_add_table(DdlJob *job, Oid relid)
{
	job->concerned = true;
	job->tables = list_append_unique_oid(job->tables, relid);
}

List *
job_shard_maps(Oid relid, int32 group)
{
	const DistTable *table = dist_table_require(relid);
	List *maps = NIL;
	GroupShards own;

	if (table->kind == TABLE_MANAGED_LOCAL)
		return NIL; /* it is its own shard */
	own = dist_table_in_group(table, group);
	DEBUG_STEPS(own.nshards);
	for (int i = 0; i < own.nshards; i++)
	{
		ShardMap *map = palloc0(sizeof(ShardMap));

		map->relid = relid;
		map->shard_id = table->shards[own.shards[i]].id;
		maps = lappend(maps, map);
	}
	return maps;
}

void
job_add_shards(DdlJob *job, Oid relid, Node *stmt)
{
	foreach_ptr (ShardMap, map, job_shard_maps(relid, node_local_group()))
	{
		Node *copy = copyObject(stmt);

		CHECK_FOR_INTERRUPTS();
		if (shard_rename_statement(copy, map))
			job->shard_statements = lappend(job->shard_statements, copy);
	}
}

void
job_one_table(DdlJob *job, RangeVar *relation)
{
	Oid relid = job_distributed_table(relation);

	if (!OidIsValid(relid))
		return;
	job_add_table(job, relid);
	job_add_shards(job, relid, job->stmt);
}

char *
job_fix_name(DdlJob *job, char *choice)
{
	if (job->applying && list_length(job->names_given) > list_length(job->names))
		choice = list_nth(job->names_given, list_length(job->names));
	job->names = lappend(job->names, choice);
	return choice;
}

char *
job_text(const DdlJob *job)
{
	const PlannedStmt *pstmt = job->call->pstmt;
	const char *text = job->call->query_string;
	int length = pstmt->stmt_len;

	if (pstmt->stmt_location > 0)
		text += pstmt->stmt_location;
	if (length <= 0)
		length = strlen(text);
	return pnstrdup(text, length);
}

void
job_refuse(DdlJob *job, const char *what, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("%s is not supported on distributed tables", what),
					hint != NULL ? errhint("%s", hint) : 0));
}

static void
run_next_hook(DdlCall *call)
{
	hook_utility_next(UTILITY_DDL, call->pstmt, call->query_string, call->read_only_tree,
					  call->context, call->params, call->query_env, call->dest, call->qc);
}

/* Do its queries see rows? Those of a managed local table are where they seem to be. */
static bool
job_is_on_rows(const DdlJob *job)
{
	return job->on_rows ||
		   (job->tables != NIL &&
			dist_table_require(linitial_oid(job->tables))->kind == TABLE_MANAGED_LOCAL);
}

void
job_run_shell(DdlJob *job)
{
	bool shells = plan_shells;
	DdlJob *outer = in_shell;

	plan_shells = !job_is_on_rows(job);
	in_shell = job->applying ? NULL : job;
	job->context = CurrentMemoryContext;
	PG_TRY();
	{
		if (job->call == NULL)
			utility_apply_statement(job->stmt, job->source, PROCESS_UTILITY_QUERY);
		else
			run_next_hook(job->call);
	}
	PG_FINALLY();
	{
		plan_shells = shells;
		in_shell = outer;
	}
	PG_END_TRY();
}

void
job_spread(DdlJob *job)
{
	void (*spread)(DdlJob *) = job->spread;

	job->spread = NULL;
	if (spread != NULL)
		spread(job);
}

Datum
utility_call_event_trigger(PGFunction function, FunctionCallInfo fcinfo)
{
	bool shells = plan_shells;
	DdlJob *job = in_shell;
	Datum result = 0;

	plan_shells = false;
	in_shell = NULL;
	PG_TRY();
	{
		if (job != NULL &&
			strcmp(((EventTriggerData *) fcinfo->context)->event, "ddl_command_end") == 0)
		{
			MemoryContext old = MemoryContextSwitchTo(job->context);

			EventTriggerInhibitCommandCollection();
			job_spread(job);
			EventTriggerUndoInhibitCommandCollection();
			MemoryContextSwitchTo(old);
		}
		result = function(fcinfo);
	}
	PG_FINALLY();
	{
		plan_shells = shells;
		in_shell = job;
	}
	PG_END_TRY();
	return result;
}

/* Sends the statement to all other nodes, in the transaction. */
static void
job_send(DdlJob *job)
{
	List *nodes = node_list(NODES_OTHER);
	StringInfoData sql;

	if (nodes == NIL)
		return;
	xact_settle_past();
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT pando.ddl_apply(%s, ",
					 quote_literal_cstr(job_text(job)));
	sql_append_text_array(&sql, job->names);
	appendStringInfo(&sql, ", %s)", quote_literal_cstr(namespace_search_path));
	xact_run_on_nodes(nodes, sql.data);
}

/* ------------------------------------------------------------------------------------
 * The usual way
 */

/*
 * The shell of the node that leads has said all there is to say to the client: what the
 * same statement says of other shells, and of shards, isn't shown. Until the GUC level
 * ends.
 */
static void
say_errors_alone(void)
{
	set_config_option("client_min_messages", "error", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
}

static void
job_run_shards(DdlJob *job)
{
	int guc_level;

	if (job->shard_statements == NIL)
		return;
	guc_level = NewGUCNestLevel();
	say_errors_alone();
	foreach_ptr (Node, stmt, job->shard_statements)
		shard_run(stmt, job->source);
	AtEOXact_GUC(true, guc_level);
	xact_wrote_locally();
}

static void
job_ensure_dependencies(DdlJob *job)
{
	ListCell *cell;

	foreach (cell, job->tables)
	{
		ObjectAddress address;

		ObjectAddressSet(address, RelationRelationId, lfirst_oid(cell));
		if (get_rel_relkind(address.objectId) != '\0')
			dependency_ensure(&address);
	}
	/* Those that it dropped are forgotten already. */
	foreach_ptr (ObjectAddress, object, job->objects)
	{
		if (catalog_object_find(object) != NULL)
			dependency_follow(object);
	}
}

/* The tables as they are now. */
static void
job_check_tables(DdlJob *job)
{
	foreach_oid(relid, job->tables)
	{
		Relation rel = try_relation_open(relid, AccessShareLock);

		if (rel == NULL)
			continue;
		if (!dist_table_require(relid)->managed_local)
			row_expressions_check(rel);
		relation_close(rel, NoLock);
	}
}

/* Other nodes' shells of managed local tables come before the tables themselves. */
static void
lock_local_shells(DdlJob *job)
{
	foreach_oid(relid, job->tables)
	{
		if (dist_table_require(relid)->managed_local &&
			compat_owns_relation(relid, GetUserId()))
			local_shells_lock(relid, IsA(job->stmt, IndexStmt) ? ExclusiveLock
															   : AccessExclusiveLock);
	}
}

/* What follows when the shell has changed. */
static void
job_follow(DdlJob *job)
{
	CommandCounterIncrement();
	if (job->handler->changed != NULL)
		job->handler->changed(job);
	if (!job->applying)
	{
		DEBUG_POINT("ddl-shell-changed");
		xact_wrote_locally();
		job_check_tables(job);
		job_ensure_dependencies(job);
		job_send(job);
		DEBUG_POINT("ddl-sent");
	}
	else
		DEBUG_POINT("node-ddl-shell-changed");
	job_run_shards(job);
	if (job->handler->finish != NULL)
		job->handler->finish(job);
}

static void
job_run(DdlJob *job)
{
	if (job->handler->run != NULL && job->handler->run(job))
		return;

	if (!job->applying)
		lock_local_shells(job);
	job->spread = job_follow;
	if (job->handler->shell != NULL)
		job->handler->shell(job);
	else
		job_run_shell(job);
	job_spread(job);
}

/* Is the statement one that this backend has to look at? */
static bool
utility_is_ours(const DdlCall *call)
{
	return call->context != PROCESS_UTILITY_SUBCOMMAND && !utility_is_applying() &&
		   !utility_is_internal() && ddl_propagation_enabled && metadata_active();
}

/* Prepares the statement; returns the tables without shards that it was found to name. */
static List *
prepare_call(DdlJob *job)
{
	List *local;

	collect_local = true;
	with_managed_local = job->handler->managed_local;
	take_wait(job->stmt);
	PG_TRY();
	{
		job->handler->prepare(job);
	}
	PG_FINALLY();
	{
		local = seen_local;
		collect_local = false;
		with_managed_local = false;
		seen_local = NIL;
	}
	PG_END_TRY();
	return local;
}

/* Has one of them been dropped while it was waited for, or replaced by another? */
static bool
any_is_gone(List *relids)
{
	foreach_oid(relid, relids)
	{
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
			return true;
	}
	return false;
}

/* Takes the statement up, with what it names as it is once its locks are taken. */
static List *
take_up(DdlJob *job, DdlCall *call)
{
	PlannedStmt *before = call->pstmt;
	const DdlHandler *handler = handler_find(before->utilityStmt);
	List *local = NIL;
	List *taken = NIL;
	bool again = false;

	while (handler != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		call->pstmt = copyObject(before);
		call->read_only_tree = false;
		*job = (DdlJob){.call = call,
						.handler = handler,
						.stmt = call->pstmt->utilityStmt,
						.source = call->query_string};
		local = prepare_call(job);
		/* VACUUM has its own way with those (vacuum.c). */
		if (!IsA(job->stmt, VacuumStmt) && any_is_gone(local))
			continue;
		if (local_lead_is_for(job, local) || !lead_statement(job, again, &taken))
			break;
		again = true;
	}
	return local;
}

static void
utility_run(DdlCall *call)
{
	DdlJob job = {.call = call};
	/* On a standby PostgreSQL refuses what changes anything, before it takes locks. */
	List *local =
		utility_is_ours(call) && !RecoveryInProgress() ? take_up(&job, call) : NIL;

	if (job.handler != NULL && local_lead_run(&job, local))
		return;
	if (!job.concerned)
	{
		run_next_hook(call);
		check_still_local(local);
		return;
	}
	job_run(&job);
}

static void
utility_hook(PlannedStmt *pstmt, const char *query_string, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *query_env, DestReceiver *dest, QueryCompletion *qc)
{
	DdlCall call = {pstmt,	query_string, read_only_tree, context,
					params, query_env,	  dest,			  qc};
	DropScope *drops;
	DdlJob *outer = in_shell;

	kept_rows_let_go();
	drops = drop_scope_enter();
	PG_TRY();
	{
		if (context != PROCESS_UTILITY_SUBCOMMAND)
			in_shell = NULL;
		utility_run(&call);
		drop_scope_finish(drops);
	}
	PG_FINALLY();
	{
		in_shell = outer;
		drop_scope_leave(drops);
	}
	PG_END_TRY();
}

/* ------------------------------------------------------------------------------------
 * On the other nodes
 */

static List *
text_array_list(ArrayType *array)
{
	Datum *values;
	int count;
	List *list = NIL;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, NULL, &count);
	for (int i = 0; i < count; i++)
		list = lappend(list, TextDatumGetCString(values[i]));
	return list;
}

static void
apply_statement(Node *stmt, const char *source, List *names)
{
	DdlJob job = {.stmt = stmt, .source = source, .applying = true, .names_given = names};

	job.handler = handler_find(stmt);
	/* VACUUM's shards are each node's outside the transaction. */
	if (job.handler == NULL || IsA(stmt, VacuumStmt))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("%s is not a schema change that other nodes send",
							   GetCommandTagName(CreateCommandTag(stmt)))));
	take_wait(stmt);
	with_managed_local = job.handler->managed_local;
	PG_TRY();
	{
		job.handler->prepare(&job);
	}
	PG_FINALLY();
	{
		with_managed_local = false;
	}
	PG_END_TRY();
	if (!job.concerned)
		return;
	lock_list_apply(&job);
	job_run(&job);
}

/*
 * SQL: applies a statement of the coordinator to this node's shell tables, shards and
 * other objects. Arguments: text, names that were fixed there, search_path. All is done
 * with the rights of the current user.
 */
Datum
ddl_apply(PG_FUNCTION_ARGS)
{
	char *source = text_to_cstring(PG_GETARG_TEXT_PP(0));
	List *names = text_array_list(PG_GETARG_ARRAYTYPE_P(1));
	char *search_path = text_to_cstring(PG_GETARG_TEXT_PP(2));
	int guc_level = NewGUCNestLevel();
	bool outer = called_by_client;

	set_config_option("search_path", search_path, PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	say_errors_alone();
	set_config_option("check_function_bodies", "off", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	called_by_client = true;
	PG_TRY();
	{
		foreach_ptr (Node, stmt, shard_parse(source))
			apply_statement(stmt, source, names);
	}
	PG_FINALLY();
	{
		called_by_client = outer;
	}
	PG_END_TRY();
	AtEOXact_GUC(true, guc_level);
	PG_RETURN_VOID();
}

void
utility_init(void)
{
	hook_utility(UTILITY_DDL, utility_hook);
}
