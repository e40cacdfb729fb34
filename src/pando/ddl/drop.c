/*
 * drop.c: what follows when a distributed table or a recorded object is dropped.
 *
 * The notes are taken before the drop, while names can still be read, and acted on after
 * the statement, when PostgreSQL has agreed to it. Shards go with CASCADE: what depends
 * on the shell was checked on the shell. A scope belongs to one utility statement; scopes
 * nest.
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_ts_config.h"
#include "catalog/pg_ts_dict.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/catalog/drop.h"
#include "pando/catalog/partition.h"
#include "pando/ddl/drop.h"
#include "pando/ddl/handler.h"
#include "pando/ddl/kind.h"
#include "pando/ddl/utility.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(tables_drop);

typedef struct DroppedTable
{
	Oid relid;
	Oid owner;
	char *name;		   /* qualified */
	List *shard_names; /* of this node's shards, qualified */
} DroppedTable;

struct DropScope
{
	DropScope *outer;
	MemoryContext context;
	List *tables; /* of DroppedTable */
	Oid capture_class;
	List *captured;
	bool extension_gone; /* our own catalogs are being dropped: hands off */
};

static DropScope *scope = NULL;
static object_access_hook_type next_hook = NULL;

DropScope *
drop_scope_enter(void)
{
	DropScope *inner = palloc0(sizeof(DropScope));

	inner->outer = scope;
	inner->context = CurrentMemoryContext;
	scope = inner;
	return inner;
}

void
drop_scope_leave(DropScope *left)
{
	scope = left->outer;
}

void
drop_scope_capture(Oid class_id)
{
	scope->capture_class = class_id;
}

List *
drop_scope_captured(void)
{
	return scope->captured;
}

/* ------------------------------------------------------------------------------------
 * Before the drop
 */

static void
drop_note_table(Oid relid)
{
	const DistTable *table = dist_table(relid);
	MemoryContext old;
	DroppedTable *dropped;

	if (table == NULL)
		return;
	if (get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE && utility_is_internal())
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot drop foreign table %s from another node",
							   name_qualified(relid)),
						errdetail("There nothing shows that it needs what is dropped."),
						errhint("Run the statement on the coordinator.")));
	if (scope == NULL)
	{
		catalog_forget_table(relid);
		return;
	}

	old = MemoryContextSwitchTo(scope->context);
	dropped = palloc0(sizeof(DroppedTable));
	dropped->relid = relid;
	dropped->owner = shard_owner(relid);
	dropped->name = name_qualified(relid);
	/* Of replicated shards all that may be here: copies may be marked as lost. */
	for (int i = 0; i < table->nshards && table->repmodel == REPMODEL_COPIES; i++)
		dropped->shard_names = lappend(dropped->shard_names,
									   name_shard_qualified(relid, table->shards[i].id));
	foreach_ptr (ShardMap, map,
				 table->repmodel == REPMODEL_COPIES
					 ? NIL
					 : job_shard_maps(relid, node_local_group()))
		dropped->shard_names =
			lappend(dropped->shard_names, name_shard_qualified(relid, map->shard_id));
	scope->tables = lappend(scope->tables, dropped);
	MemoryContextSwitchTo(old);
}

/* A column that goes by itself or by a cascade must not be the distribution column. */
static void
drop_check_column(Oid relid, AttrNumber column)
{
	const DistTable *table = dist_table(relid);

	if (table != NULL && table->named_key == column && column != InvalidAttrNumber)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot drop distribution column \"%s\" of table \"%s\"",
							   get_attname(relid, column, false), get_rel_name(relid)),
						errhint("Use undistribute_table() first.")));
}

static bool
drop_is_own_catalog(Oid relid)
{
	char *name = get_rel_name(relid);

	return get_rel_namespace(relid) == PG_CATALOG_NAMESPACE && name != NULL &&
		   strncmp(name, "pg_dist_", strlen("pg_dist_")) == 0;
}

static void
drop_note_relation(Oid relid, AttrNumber column)
{
	char relkind = get_rel_relkind(relid);

	if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE &&
		relkind != RELKIND_FOREIGN_TABLE)
		return;
	if (column != InvalidAttrNumber)
		drop_check_column(relid, column);
	else
		drop_note_table(relid);
}

static void
drop_hook(ObjectAccessType access, Oid class_id, Oid object_id, int sub_id, void *arg)
{
	if (next_hook != NULL)
		next_hook(access, class_id, object_id, sub_id, arg);

	if (access == OAT_POST_CREATE && scope != NULL && class_id == scope->capture_class &&
		sub_id == 0)
	{
		MemoryContext old = MemoryContextSwitchTo(scope->context);

		scope->captured = lappend_oid(scope->captured, object_id);
		MemoryContextSwitchTo(old);
	}

	if (access != OAT_DROP || object_id < FirstNormalObjectId || !metadata_active())
		return;
	if (scope != NULL && class_id == RelationRelationId && drop_is_own_catalog(object_id))
		scope->extension_gone = true;
	for (DropScope *s = scope; s != NULL; s = s->outer)
	{
		if (s->extension_gone)
			return;
	}

	if (class_id == RelationRelationId && !kind_is_view(object_id))
		drop_note_relation(object_id, sub_id);
	else if (sub_id == 0 && kind_class_is_everywhere(class_id))
	{
		ObjectAddress address;

		ObjectAddressSet(address, class_id, object_id);
		catalog_forget_object(&address);
	}
}

/* ------------------------------------------------------------------------------------
 * After the statement
 */

static void
drop_on_other_nodes(List *tables)
{
	List *nodes = node_list(NODES_OTHER);
	StringInfoData list;
	const char *separator = "";

	initStringInfo(&list);
	foreach_ptr (DroppedTable, table, tables)
	{
		appendStringInfo(&list, "%s%s", separator, table->name);
		separator = ", ";
	}
	if (nodes != NIL && list.len > 0)
	{
		xact_settle_past();
		xact_run_on_nodes(nodes, psprintf("SELECT pando.tables_drop(%s)",
										  quote_literal_cstr(list.data)));
	}
}

/* SQL: drops shell tables (a list of names) of this node, and all that goes with them. */
Datum
tables_drop(PG_FUNCTION_ARGS)
{
	char *list = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int guc_level = NewGUCNestLevel();

	set_config_option("client_min_messages", "warning", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	(void) sql_run_as_is(psprintf("DROP TABLE IF EXISTS %s CASCADE", list));
	AtEOXact_GUC(true, guc_level);
	PG_RETURN_VOID();
}

void
drop_scope_finish(DropScope *done)
{
	if (done->tables == NIL || done->extension_gone)
		return;

	CommandCounterIncrement();
	if (!utility_is_internal() && !utility_is_applying())
		drop_on_other_nodes(done->tables);
	foreach_ptr (DroppedTable, table, done->tables)
	{
		shard_drop_tables(table->shard_names, table->owner, WARNING);
		catalog_forget_table(table->relid);
	}
	CommandCounterIncrement();
	xact_wrote_locally();
}

void
drop_init(void)
{
	next_hook = object_access_hook;
	object_access_hook = drop_hook;
}
