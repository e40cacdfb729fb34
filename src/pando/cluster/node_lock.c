/*
 * node_lock.c: locks on shell tables over the whole cluster.
 *
 * A statement locks the shell tables of the node where it started. So keeping writers out
 * takes the lock on every node, the coordinator first; keeping schema changes and moves
 * out takes it on the coordinator, and here.
 */
#include "pando/compat/compat.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pando/base/name.h"
#include "pando/cluster/node_lock.h"
#include "pando/ddl/lead.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(table_lock);

/* Lock modes as LOCK TABLE spells them, as far as nodes ask each other for them. */
static const struct
{
	const char *name;
	LOCKMODE mode;
} lock_modes[] = {{"EXCLUSIVE", ExclusiveLock},
				  {"ACCESS EXCLUSIVE", AccessExclusiveLock}};

static LOCKMODE
lock_mode_from_name(const char *name)
{
	for (int i = 0; i < lengthof(lock_modes); i++)
	{
		if (strcmp(lock_modes[i].name, name) == 0)
			return lock_modes[i].mode;
	}
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("unknown lock mode \"%s\"", name)));
	return NoLock; /* not reached */
}

static const char *
lock_mode_name(LOCKMODE mode)
{
	for (int i = 0; i < lengthof(lock_modes); i++)
	{
		if (lock_modes[i].mode == mode)
			return lock_modes[i].name;
	}
	elog(ERROR, "lock mode %d is not for other nodes", mode);
}

/*
 * pando.table_lock(regclass, mode): locks the shell table on this server alone. Unlike
 * LOCK TABLE it is nothing that is propagated.
 */
Datum
table_lock(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	LOCKMODE mode = lock_mode_from_name(text_to_cstring(PG_GETARG_TEXT_PP(1)));

	if (pg_class_aclcheck(relid, GetUserId(), ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE) !=
			ACLCHECK_OK &&
		!compat_owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(relid));
	LockRelationOid(relid, mode);
	PG_RETURN_VOID();
}

List *
node_lock_definitions(void)
{
	List *relids = dist_table_oids();
	ListCell *cell;

	list_sort(relids, list_oid_cmp);
	lead_relations(relids, ShareUpdateExclusiveLock);
	foreach (cell, relids)
		LockRelationOid(lfirst_oid(cell), ShareUpdateExclusiveLock);
	relids = dist_table_oids();
	list_sort(relids, list_oid_cmp);
	return relids;
}

typedef struct NamedTable
{
	Oid relid;
	char *name; /* qualified */
} NamedTable;

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(((NamedTable *) lfirst(a))->name, ((NamedTable *) lfirst(b))->name);
}

/* By name, for nodes have OIDs of their own. */
static List *
tables_by_name(List *relids)
{
	List *tables = NIL;

	foreach_oid(relid, relids)
	{
		NamedTable *table = palloc(sizeof(NamedTable));

		table->relid = relid;
		table->name = name_qualified(relid);
		tables = lappend(tables, table);
	}
	list_sort(tables, compare_names);
	return tables;
}

void
node_lock_tables_everywhere(List *relids, LOCKMODE mode, const DistNode *except)
{
	List *nodes = NIL;
	List *coordinator = NIL;
	List *tables;
	StringInfoData sql;

	if (relids == NIL)
		return;
	tables = tables_by_name(relids);
	initStringInfo(&sql);
	foreach_ptr (NamedTable, table, tables)
		appendStringInfo(&sql,
						 "SELECT pando.table_lock(%s::pg_catalog.regclass, '%s');\n",
						 quote_literal_cstr(table->name), lock_mode_name(mode));
	foreach_ptr (DistNode, node, node_list(NODES_OTHER))
	{
		if (except != NULL && node->id == except->id)
			continue;
		if (node->group == COORDINATOR_GROUP)
			coordinator = list_make1(node);
		else
			nodes = lappend(nodes, node);
	}
	xact_run_on_nodes(coordinator, sql.data);
	foreach_ptr (NamedTable, table, tables)
		LockRelationOid(table->relid, mode);
	if (nodes != NIL)
		xact_run_on_nodes(nodes, sql.data);
}
