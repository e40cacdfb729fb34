/*
 * schema_lock.c: a schema that is dropped is locked on all nodes, or on none.
 *
 * CREATE TABLE locks its schema on the client's node and stays there; if the table is
 * distributed in the same transaction, the schema's name is locked on the coordinator
 * next. Who drops the schema holds that name and comes to the node after it: the two
 * would wait for each other, where on one server they never do. So a drop takes the name
 * and the schemas of all nodes in an *attempt*, a subtransaction that gives all of them
 * back when one can't be had soon. It then waits for that one without holding any, and
 * tries again: whoever has it needs nothing of ours.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "pando/base/subtransaction.h"
#include "pando/ddl/lock_list.h"
#include "pando/ddl/schema_lock.h"
#include "pando/metadata/node.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(schema_lock);

/* For each node of an attempt; less than waits have to last to be taken for a deadlock
 * (transaction/deadlock.c). */
#define ATTEMPT_MS 500

typedef struct Attempt
{
	List *schemas;
	void (*before)(void *arg);
	void *arg;
} Attempt;

/* ------------------------------------------------------------------------------------
 * On each node
 */

/* One that isn't there is no matter: the drop itself finds that out. */
static void
lock_here(const char *name, bool keep)
{
	Oid schema = get_namespace_oid(name, true);

	if (!OidIsValid(schema))
		return;
	LockDatabaseObject(NamespaceRelationId, schema, 0, AccessExclusiveLock);
	if (!keep)
		UnlockDatabaseObject(NamespaceRelationId, schema, 0, AccessExclusiveLock);
}

/* pando.schema_lock(names, keep): locks schemas as DROP SCHEMA does, to the end of the
 * transaction, or only waits until it could. */
Datum
schema_lock(PG_FUNCTION_ARGS)
{
	Datum *names;
	int count;

	xact_require_node("pando.schema_lock()");
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &names,
					  NULL, &count);
	for (int i = 0; i < count; i++)
		lock_here(TextDatumGetCString(names[i]), PG_GETARG_BOOL(1));
	PG_RETURN_VOID();
}

/* ------------------------------------------------------------------------------------
 * On the node that leads
 */

static void
tell_others(List *schemas, bool keep)
{
	StringInfoData names;

	initStringInfo(&names);
	foreach_ptr (char, name, schemas)
		appendStringInfo(&names, "%s%s", names.len == 0 ? "" : ", ",
						 quote_literal_cstr(name));
	xact_tell_nodes(node_list(NODES_OTHER),
					psprintf("SELECT pando.schema_lock(ARRAY[%s], %s)", names.data,
							 keep ? "true" : "false"));
}

/* Nothing is held yet when `before` waits, so it needn't be quick. */
static void
attempt_all(void *arg)
{
	const Attempt *attempt = arg;
	int guc_level = NewGUCNestLevel();

	attempt->before(attempt->arg);
	if (LockTimeout == 0 || LockTimeout > ATTEMPT_MS)
		(void) set_config_option("lock_timeout", psprintf("%d", ATTEMPT_MS), PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	foreach_ptr (char, name, attempt->schemas)
		lock_here(name, true);
	tell_others(attempt->schemas, true);
	AtEOXact_GUC(true, guc_level);
}

List *
schema_lock_names(const DdlJob *job)
{
	const DropStmt *stmt = (const DropStmt *) job->stmt;
	List *names = NIL;

	if (!IsA(stmt, DropStmt) || stmt->removeType != OBJECT_SCHEMA || job->applying)
		return NIL;
	foreach_ptr (String, name, stmt->objects)
	{
		Oid schema = get_namespace_oid(strVal(name), true);

		if (OidIsValid(schema) && compat_owns_schema(schema, GetUserId()))
			names = lappend(names, strVal(name));
	}
	return names;
}

void
schema_lock_all(List *schemas, void (*before)(void *arg), void *arg)
{
	Attempt attempt = {schemas, before, arg};
	ErrorData *error;

	while ((error = subtransaction_try(attempt_all, &attempt, true)) != NULL)
	{
		if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
			ReThrowError(error);
		FreeErrorData(error);
		foreach_ptr (char, name, schemas)
			lock_here(name, false);
		tell_others(schemas, false);
	}
}
