/*
 * lead.c: a schema change may begin on any node; that node *leads* it.
 *
 * It goes the coordinator's way (utility.c, cluster/table_functions.c): its own shell,
 * then all other nodes, in its transaction, whose first commit record is its own. What
 * makes the coordinator the first among the nodes is the order of locks. The
 * coordinator's lock on a shell comes before any other node's, so two changes of one
 * table meet on the coordinator, wherever they begin, and one waits there with nothing
 * that the other needs. Ids of shards, placements and groups come from the coordinator's
 * sequences (lead_next_id()).
 *
 * A writer has the lock on his own node's shell before any on shards, on whatever node.
 * So shells are locked on all nodes before a shard is: who waits there for a writer has
 * nothing that he needs.
 *
 * Who changed the table before has committed on the coordinator when the lock is given,
 * but may still have the transaction prepared on this node: that is waited for, too, and
 * what was found out before is found out again.
 */
#include "pando/compat/compat.h"

#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "pando/base/debug_point.h"
#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/catalog.h"
#include "pando/ddl/lead.h"
#include "pando/ddl/lock_list.h"
#include "pando/ddl/schema_lock.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(lead_lock);
PG_FUNCTION_INFO_V1(lead_lock_objects);
PG_FUNCTION_INFO_V1(lead_next_id);
PG_FUNCTION_INFO_V1(default_privileges_keep);

/* ------------------------------------------------------------------------------------
 * On the coordinator, and on the others after it
 */

static LOCKMODE
lock_mode(Datum number)
{
	LOCKMODE mode = DatumGetInt32(number);

	if (mode < AccessShareLock || mode > AccessExclusiveLock)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("there is no lock mode %d", mode)));
	return mode;
}

/*
 * One that isn't there has been dropped meanwhile, which the leading node finds out by
 * itself.
 */
static void
lock_relation(const char *name, LOCKMODE mode, bool nowait)
{
	(void) RangeVarGetRelidExtended(
		makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(name))), mode,
		RVR_MISSING_OK | (nowait ? RVR_NOWAIT : 0), NULL, NULL);
}

/* The names and modes of the next two functions' arguments (List of DdlLock *). */
static List *
locks_asked(ArrayType *names_array, ArrayType *modes_array)
{
	Datum *names;
	Datum *modes;
	int count;
	int nmodes;
	List *locks = NIL;

	deconstruct_array(names_array, TEXTOID, -1, false, TYPALIGN_INT, &names, NULL,
					  &count);
	deconstruct_array(modes_array, INT4OID, sizeof(int32), true, TYPALIGN_INT, &modes,
					  NULL, &nmodes);
	if (count != nmodes)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
						errmsg("%d names but %d lock modes", count, nmodes)));
	for (int i = 0; i < count; i++)
	{
		DdlLock *lock = palloc0(sizeof(DdlLock));

		lock->name = TextDatumGetCString(names[i]);
		lock->mode = lock_mode(modes[i]);
		locks = lappend(locks, lock);
	}
	return locks;
}

/* pando.lead_lock(relations, modes, nowait): locks them, in that order. */
Datum
lead_lock(PG_FUNCTION_ARGS)
{
	xact_require_node("pando.lead_lock()");
	foreach_ptr (DdlLock, lock,
				 locks_asked(PG_GETARG_ARRAYTYPE_P(0), PG_GETARG_ARRAYTYPE_P(1)))
		lock_relation(lock->name, lock->mode, PG_GETARG_BOOL(2));
	PG_RETURN_VOID();
}

/* pando.lead_lock_objects(names, modes): the same of objects' names (lock_list.c). */
Datum
lead_lock_objects(PG_FUNCTION_ARGS)
{
	xact_require_node("pando.lead_lock_objects()");
	node_require_coordinator();
	foreach_ptr (DdlLock, lock,
				 locks_asked(PG_GETARG_ARRAYTYPE_P(0), PG_GETARG_ARRAYTYPE_P(1)))
		lock_list_take_object(lock->name, lock->mode);
	PG_RETURN_VOID();
}

/* pando.lead_next_id(sequence): the next id of one of the extension's sequences. */
Datum
lead_next_id(PG_FUNCTION_ARGS)
{
	xact_require_node("pando.lead_next_id()");
	node_require_coordinator();
	PG_RETURN_INT64(catalog_nextval(text_to_cstring(PG_GETARG_TEXT_PP(0))));
}

/*
 * pando.default_privileges_keep(): for definitions that another node sends. Whoever makes
 * an object may keep default privileges from changing, so anybody may call it.
 */
Datum
default_privileges_keep(PG_FUNCTION_ARGS)
{
	const DdlLock *lock = lock_list_default_privileges(ShareLock);

	lock_list_take_object(lock->name, lock->mode);
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * On the node that leads
 */

static bool
next_id(const char *sequence, int64 *id)
{
	char *value;

	if (node_is_coordinator())
		return false;
	value = xact_value_told(
		node_by_group(COORDINATOR_GROUP),
		psprintf("SELECT pando.lead_next_id(%s)", quote_literal_cstr(sequence)));
	*id = DatumGetInt64(DirectFunctionCall1(int8in, CStringGetDatum(value)));
	return true;
}

/* A call of a function that takes names and modes. */
typedef struct Call
{
	StringInfoData names;
	StringInfoData modes;
} Call;

static void
call_add(Call *call, const char *name, LOCKMODE mode)
{
	const char *separator = ", ";

	if (call->names.data == NULL)
	{
		initStringInfo(&call->names);
		initStringInfo(&call->modes);
		separator = "";
	}
	appendStringInfo(&call->names, "%s%s", separator, quote_literal_cstr(name));
	appendStringInfo(&call->modes, "%s%d", separator, mode);
}

static void
call_relations(const Call *call, List *nodes, bool nowait)
{
	if (call->names.data != NULL && nodes != NIL)
		xact_tell_nodes(nodes,
						psprintf("SELECT pando.lead_lock(ARRAY[%s], ARRAY[%s], %s)",
								 call->names.data, call->modes.data,
								 nowait ? "true" : "false"));
}

static List *
coordinator(void)
{
	return list_make1((void *) node_by_group(COORDINATOR_GROUP));
}

/*
 * Takes locks on the coordinator, if it is another node. Afterwards what has committed
 * there is seen here, too.
 */
static void
lock_there(List *locks, bool nowait)
{
	Call objects = {0};
	Call relations = {0};

	foreach_ptr (DdlLock, lock, locks)
		call_add(OidIsValid(lock->relid) ? &relations : &objects, lock->name, lock->mode);
	if (objects.names.data != NULL)
		xact_tell_nodes(coordinator(),
						psprintf("SELECT pando.lead_lock_objects(ARRAY[%s], ARRAY[%s])",
								 objects.names.data, objects.modes.data));
	call_relations(&relations, coordinator(), nowait);
	xact_await_prepared();
}

static void
lock_here(List *locks, bool nowait)
{
	foreach_ptr (DdlLock, lock, locks)
	{
		/* As PostgreSQL says it, without the schema. */
		if (OidIsValid(lock->relid) && nowait &&
			!ConditionalLockRelationOid(lock->relid, lock->mode))
			ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
							errmsg("could not obtain lock on relation \"%s\"",
								   get_rel_name(lock->relid))));
		if (OidIsValid(lock->relid))
			lock_relation(lock->name, lock->mode, nowait);
		else if (node_is_coordinator())
			lock_list_take_object(lock->name, lock->mode);
	}
}

/*
 * Shells that keep writers out, on the nodes that are left. A single one needs no
 * command of its own: there the statement itself comes to the shell before the shards.
 */
static void
lock_elsewhere(List *locks, bool nowait)
{
	List *nodes = NIL;
	Call relations = {0};

	foreach_ptr (const DistNode, node, node_list(NODES_OTHER))
	{
		if (node->group != COORDINATOR_GROUP)
			nodes = lappend(nodes, (void *) node);
	}
	if (list_length(node_list(NODES_OTHER)) < 2)
		return;
	foreach_ptr (DdlLock, lock, locks)
	{
		if (lock->mode >= ShareLock && OidIsValid(lock->relid) &&
			dist_table(lock->relid) != NULL)
			call_add(&relations, lock->name, lock->mode);
	}
	call_relations(&relations, nodes, nowait);
}

static bool
is_same(const DdlLock *a, const DdlLock *b)
{
	return a->relid == b->relid && a->mode == b->mode && strcmp(a->name, b->name) == 0;
}

/* Those that are to be taken. Most come in the order in which they were taken. */
static List *
locks_missing(List *locks, List *taken)
{
	List *missing = NIL;
	int next = 0;

	foreach_ptr (DdlLock, lock, locks)
	{
		int tried = 0;

		while (tried < list_length(taken) &&
			   !is_same(lock, list_nth(taken, (next + tried) % list_length(taken))))
			tried++;
		if (tried < list_length(taken))
			next = (next + tried + 1) % list_length(taken);
		else
			missing = lappend(missing, lock);
	}
	return missing;
}

/*
 * The objects that were looked up are locked against being dropped. Who has their names
 * and drops them must not wait for us, who wait for the names.
 */
static void
let_go_of_objects(const DdlJob *job)
{
	foreach_ptr (ObjectAddress, object, job->looked_up)
	{
		if (IsSharedRelation(object->classId))
			UnlockSharedObject(object->classId, object->objectId, 0, AccessShareLock);
		else
			UnlockDatabaseObject(object->classId, object->objectId, 0, AccessShareLock);
	}
}

/* Of the locks, those on names. */
static void
lock_names(void *arg)
{
	List *names = NIL;

	foreach_ptr (DdlLock, lock, (List *) arg)
	{
		if (!OidIsValid(lock->relid))
			names = lappend(names, lock);
	}
	if (node_is_coordinator())
		lock_here(names, false);
	else
		lock_there(names, false);
}

bool
lead_statement(const DdlJob *job, bool again, List **taken)
{
	bool nowait = IsA(job->stmt, LockStmt) && ((LockStmt *) job->stmt)->nowait;
	List *locks;
	List *dropped;

	if (node_list(NODES_OTHER) == NIL)
		return false;
	locks = locks_missing(lock_list_make(job), *taken);
	if (locks == NIL && (again || !job->concerned || node_is_coordinator()))
		return false;
	*taken = list_concat(*taken, locks);
	let_go_of_objects(job);
	xact_settle_past();
	DEBUG_POINT("ddl-before-locks");
	dropped = schema_lock_names(job);
	if (dropped != NIL)
		schema_lock_all(dropped, lock_names, locks);
	if (!node_is_coordinator())
		lock_there(locks, nowait);
	lock_here(locks, nowait);
	lock_elsewhere(locks, nowait);
	DEBUG_POINT("ddl-locked");
	return true;
}

void
lead_change(Oid relid)
{
	Call relations = {0};

	if (node_is_coordinator())
		return;
	call_add(&relations, "pg_catalog.pg_dist_node", RowShareLock);
	call_add(&relations, "pg_catalog.pg_dist_colocation", ShareRowExclusiveLock);
	if (OidIsValid(relid) && dist_table(relid) != NULL)
		call_add(&relations, name_qualified(relid), AccessExclusiveLock);
	call_relations(&relations, coordinator(), false);
	xact_await_prepared();
}

void
lead_catalog(const char *name, LOCKMODE mode)
{
	Call relations = {0};

	if (node_is_coordinator())
		return;
	call_add(&relations, psprintf("pg_catalog.%s", name), mode);
	call_relations(&relations, coordinator(), false);
	xact_await_prepared();
}

void
lead_relations(List *relids, LOCKMODE mode)
{
	Call relations = {0};

	if (node_is_coordinator())
		return;
	foreach_oid(relid, relids) call_add(&relations, name_qualified(relid), mode);
	call_relations(&relations, coordinator(), false);
}

void
lead_default_privileges(void)
{
	DdlLock *lock = lock_list_default_privileges(ShareLock);

	/* Once, however many tables follow. */
	if (lock_list_has_object(lock->name, lock->mode))
		return;
	if (!node_is_coordinator())
		lock_there(list_make1(lock), false);
	lock_list_take_object(lock->name, lock->mode);
}

void
lead_init(void)
{
	catalog_set_ids_elsewhere(next_id);
}
