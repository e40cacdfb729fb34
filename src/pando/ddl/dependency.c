/*
 * dependency.c: what a table needs, on every node.
 *
 * The server knows what depends on what (pg_depend, pg_shdepend, pg_auth_members). A
 * depth-first walk from an object gives all that it needs, each object after those that
 * it needs itself. What is built in, or belongs to an extension, stands for nothing or
 * for the extension. A row of a table says per catalog what to do with an object of it;
 * an object that nobody knows how to make elsewhere gives a reason instead of a list.
 *
 * An object in pg_dist_object exists on all nodes. It is created there by
 * pando.object_create(), which leaves one alone that is there already, and recorded there
 * by pando.object_register().
 */
#include "pando/compat/compat.h"

#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_policy.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_publication_rel.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_ts_config.h"
#include "catalog/pg_ts_dict.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pando/base/sql.h"
#include "pando/catalog/object.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/object.h"
#include "pando/ddl/kind.h"
#include "pando/ddl/publication.h"
#include "pando/ddl/role.h"
#include "pando/ddl/sequence.h"
#include "pando/ddl/settings.h"
#include "pando/metadata/node.h"
#include "pando/metadata/table.h"
#include "pando/transaction/xact.h"

PG_FUNCTION_INFO_V1(object_create);
PG_FUNCTION_INFO_V1(run_as);

/* An object that the walk has come to. */
typedef struct Seen
{
	ObjectAddress object;
	bool on_table; /* a distributed table must be there before it */
	bool is_local; /* a relation of this node */
} Seen;

typedef struct Walk
{
	List *seen;		/* Seen *, in order of arrival */
	List *made;		/* Seen *, dependencies first */
	bool making;	/* what needs it is made elsewhere, not a table's part */
	bool met_table; /* a distributed table has been met */
	char *reason;	/* why it can't be done; NULL: it can */
} Walk;

static void walk_object(Walk *walk, Oid class_id, Oid object_id);

static Seen *
seen_find(List *list, const ObjectAddress *wanted)
{
	foreach_ptr (Seen, seen, list)
	{
		if (seen->object.classId == wanted->classId &&
			seen->object.objectId == wanted->objectId)
			return seen;
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------
 * The walk
 */

/* Walks to each object of a query's rows "class object". */
static void
walk_rows(Walk *walk, List *rows)
{
	foreach_ptr (char, row, rows)
	{
		char *end;
		Oid class_id = strtoul(row, &end, 10);

		walk_object(walk, class_id, strtoul(end, NULL, 10));
	}
}

static void
walk_dependencies(Walk *walk, const ObjectAddress *object)
{
	walk_rows(walk,
			  sql_column(
				  "SELECT pg_catalog.concat(refclassid, ' ', refobjid) "
				  "FROM pg_catalog.pg_depend WHERE classid = %u AND objid = %u "
				  "AND refobjid >= %u GROUP BY refclassid, refobjid "
				  "UNION ALL "
				  "SELECT pg_catalog.concat(refclassid, ' ', refobjid) "
				  "FROM pg_catalog.pg_shdepend WHERE classid = %u AND objid = %u "
				  "AND refclassid = %u AND refobjid >= %u AND dbid = (SELECT oid FROM "
				  "pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) "
				  "GROUP BY refclassid, refobjid",
				  object->classId, object->objectId, FirstNormalObjectId, object->classId,
				  object->objectId, AuthIdRelationId, FirstNormalObjectId));
}

/* Defaults, constraints, indexes, policies, rules ... that are parts of something. */
static void
walk_parts(Walk *walk, const ObjectAddress *object)
{
	foreach_ptr (char, row,
				 sql_column("SELECT pg_catalog.concat(d.classid, ' ', d.objid) "
							"FROM pg_catalog.pg_depend d WHERE d.refclassid = %u AND "
							"d.refobjid = %u AND d.deptype IN ('a', 'i') AND (d.classid "
							"<> %u OR EXISTS (SELECT FROM pg_catalog.pg_class c "
							"WHERE c.oid = d.objid AND c.relkind IN ('i', 'S'))) "
							"GROUP BY d.classid, d.objid",
							object->classId, object->objectId, RelationRelationId))
	{
		char *end;
		Oid class_id = strtoul(row, &end, 10);

		/* A table's rules come when the table is there (rule.c). */
		if (class_id == RewriteRelationId && object->classId == RelationRelationId &&
			!kind_is_view(object->objectId))
			continue;
		if (kind_class_is_part(class_id))
			walk_object(walk, class_id, strtoul(end, NULL, 10));
	}
}

/* Needs of a type that its catalog entry does not show. */
static void
walk_type(Walk *walk, Oid type)
{
	Oid relid = get_typ_typrelid(type);

	if (OidIsValid(relid))
	{
		ObjectAddress address;

		ObjectAddressSet(address, RelationRelationId, relid);
		walk_dependencies(walk, &address);
	}
	walk_rows(
		walk,
		sql_column("SELECT pg_catalog.concat(%u, ' ', oid) FROM pg_catalog.pg_constraint "
				   "WHERE contypid = %u",
				   ConstraintRelationId, type));
}

/* What an object stands for: its extension, or the object that it is an inner part of. */
static bool
object_owner(const ObjectAddress *object, ObjectAddress *owner)
{
	Oid extension = getExtensionOfObject(object->classId, object->objectId);
	char *row;
	char *end;

	if (OidIsValid(extension))
	{
		ObjectAddressSet(*owner, ExtensionRelationId, extension);
		return true;
	}
	if (object->classId != TypeRelationId && object->classId != ProcedureRelationId)
		return false;
	row = sql_value(
		"SELECT pg_catalog.concat(refclassid, ' ', refobjid) FROM pg_catalog.pg_depend "
		"WHERE classid = %u AND objid = %u AND deptype = 'i'",
		object->classId, object->objectId);
	if (row == NULL)
		return false;
	owner->classId = strtoul(row, &end, 10);
	owner->objectId = strtoul(end, NULL, 10);
	owner->objectSubId = 0;
	return true;
}

/* An object that the walk has been to is needed by something else as well. */
static void
walk_again(Walk *walk, const Seen *seen)
{
	walk->met_table |= seen->on_table;
	if (seen->is_local && walk->making)
		walk->reason = psprintf("It needs relation \"%s\", which is on this node only.",
								get_rel_name(seen->object.objectId));
}

/*
 * A relation that something needs. A table refers to others through constraints: those
 * are the tables' own matter. Anything else that needs a relation needs it on all nodes.
 */
static void
walk_relation(Walk *walk, Seen *seen)
{
	const ObjectAddress *object = &seen->object;
	char relkind = get_rel_relkind(object->objectId);
	bool is_root = list_length(walk->seen) == 1;
	bool is_table = relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE ||
					relkind == RELKIND_FOREIGN_TABLE;

	if (relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX ||
		relkind == RELKIND_COMPOSITE_TYPE || is_root)
	{
		if (is_table)
			walk_parts(walk, object);
		walk_dependencies(walk, object);
		return;
	}
	if (relkind == RELKIND_SEQUENCE)
	{
		Oid table = sequence_distributed_table(object->objectId);

		walk->met_table |= OidIsValid(table);
		if (!walk->making || OidIsValid(table))
			walk_dependencies(walk, object);
		else
			walk->reason =
				psprintf("It needs sequence \"%s\", which is on this node only.",
						 get_rel_name(object->objectId));
		return;
	}
	seen->on_table = dist_table(object->objectId) != NULL;
	seen->is_local = !seen->on_table;
	walk_again(walk, seen);
}

static bool
object_is_temporary(const ObjectAddress *object)
{
	Oid schema = is_objectclass_supported(object->classId) &&
						 get_object_attnum_namespace(object->classId) != InvalidAttrNumber
					 ? get_object_namespace(object)
					 : InvalidOid;

	return OidIsValid(schema) && isAnyTempNamespace(schema);
}

static void
walk_made(Walk *walk, Seen *seen)
{
	const ObjectAddress *object = &seen->object;
	bool making = walk->making;

	if (object->classId != AuthIdRelationId && object_is_temporary(object))
	{
		walk->reason = pstrdup("It is temporary.");
		return;
	}
	walk->making = true;
	walk_parts(walk, object);
	walk_dependencies(walk, object);
	if (object->classId == TypeRelationId)
		walk_type(walk, object->objectId);
	if (object->classId == AuthIdRelationId)
	{
		foreach_oid(role, role_memberships(object->objectId))
			walk_object(walk, AuthIdRelationId, role);
	}
	walk->made = lappend(walk->made, seen);
	walk->making = making;
}

static void
walk_object(Walk *walk, Oid class_id, Oid object_id)
{
	ObjectAddress object;
	ObjectAddress owner;
	Seen *seen;
	bool met_table = walk->met_table;

	ObjectAddressSet(object, class_id, object_id);
	if (walk->reason != NULL || object_id < FirstNormalObjectId ||
		(class_id == ExtensionRelationId &&
		 object_id == get_extension_oid("pando", true)))
		return;
	seen = seen_find(walk->seen, &object);
	if (seen != NULL)
	{
		walk_again(walk, seen);
		return;
	}
	seen = palloc0(sizeof(Seen));
	seen->object = object;
	walk->seen = lappend(walk->seen, seen);
	walk->met_table = false;

	if (object_owner(&object, &owner))
		walk_object(walk, owner.classId, owner.objectId);
	else if (class_id == RelationRelationId && !kind_is_view(object_id))
		walk_relation(walk, seen);
	else if (kind_class_is_everywhere(class_id))
		walk_made(walk, seen);
	else if (class_id == PublicationRelRelationId &&
			 !publication_row_is_everywhere(object_id))
		return; /* this node's publication has that table, the others' do not */
	else if (kind_class_is_part(class_id))
	{
		walk_parts(walk, &object);
		walk_dependencies(walk, &object);
	}
	else
		walk->reason =
			psprintf("It needs %s, which Pando does not create on other nodes.",
					 getObjectDescription(&object, false));
	seen->on_table = walk->met_table;
	walk->met_table |= met_table;
}

/* ------------------------------------------------------------------------------------
 * Commands
 */

static List *
object_commands(const ObjectAddress *object, bool exists)
{
	List *commands = NIL;

	if (object->classId == RelationRelationId && exists)
		return sql_column("SELECT pando.view_create_command(%u)", object->objectId);

	if (object->classId == AuthIdRelationId)
		return role_commands(object->objectId, exists);
	foreach_ptr (char, command,
				 sql_column("SELECT pando.object_definition(%u, %u)", object->classId,
							object->objectId))
	{
		if (command != NULL)
			commands = lappend(commands, command);
	}
	return commands;
}

/* Can the commands that make it also change one that is there? */
static bool
object_is_replaceable(const ObjectAddress *object)
{
	return object->classId == AuthIdRelationId ||
		   object->classId == ProcedureRelationId ||
		   (object->classId == RelationRelationId &&
			get_rel_relkind(object->objectId) == RELKIND_VIEW);
}

/*
 * Somebody else's object is made, with his rights, when something needs it that the user
 * makes, or it stands on that. Roles and extensions are for those who may make some.
 */
static char *
create_command(const ObjectAddress *object, const char *sql)
{
	char *command = NULL;

	if (object->classId != AuthIdRelationId && object->classId != ExtensionRelationId &&
		is_objectclass_supported(object->classId))
		command = dependency_run_as(object_facts(object).owner, sql);
	return command != NULL ? command : pstrdup(sql);
}

/*
 * Makes it unless it's there, and records it; NULL when we don't know how to make it.
 * Another one of that name is renamed aside. With `replace` one that is there is made the
 * same, if that can be done.
 */
static char *
object_make_command(const ObjectAddress *object, bool replace)
{
	StringInfoData sql;
	StringInfoData create;
	ObjectRow *row = catalog_object_new(object);
	List *commands = object_commands(object, false);
	char *probe =
		sql_value("SELECT pando.object_probe(%u, %u)", object->classId, object->objectId);

	if (commands == NIL || probe == NULL)
		return NULL;
	initStringInfo(&create);
	appendStringInfo(&create, "SELECT pando.object_create(%s, ",
					 quote_literal_cstr(probe));
	sql_append_text_array(&create, commands);
	appendStringInfoString(&create, ", ");
	sql_append_text_array(&create, replace && object_is_replaceable(object)
									   ? object_commands(object, true)
									   : NIL);
	appendStringInfoString(&create, ")");
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT pando.object_aside(%u, %s, ", object->classId,
					 quote_literal_cstr(probe));
	sql_append_text_array(&sql, commands);
	appendStringInfo(&sql, "); %s; SELECT pando.object_register(%s, ",
					 create_command(object, create.data), quote_literal_cstr(row->type));
	sql_append_text_array(&sql, row->object_names);
	appendStringInfoString(&sql, ", ");
	sql_append_text_array(&sql, row->object_args);
	appendStringInfoString(&sql, ")");
	return sql.data;
}

static bool
role_is_skipped(const ObjectAddress *object)
{
	return object->classId == AuthIdRelationId && !ddl_role_propagation;
}

/* Sends and records what is not recorded yet; `published` is sent in any case. */
static char *
made_publish(List *made, const ObjectAddress *published)
{
	StringInfoData sql;
	List *nodes = node_list(NODES_OTHER);
	List *records = NIL;

	initStringInfo(&sql);
	foreach_ptr (Seen, seen, made)
	{
		const ObjectAddress *object = &seen->object;
		bool recorded = catalog_object_find(object) != NULL;
		bool is_published = published != NULL && published->classId == object->classId &&
							published->objectId == object->objectId;
		char *command;

		if ((recorded && !is_published) || role_is_skipped(object))
			continue;
		command = object_make_command(object, is_published);
		if (command == NULL)
			return psprintf("It needs %s, which Pando does not create on other nodes.",
							getObjectDescription(object, false));
		appendStringInfo(&sql, "%s%s", sql.len > 0 ? "; " : "", command);
		if (!recorded)
			records = lappend(records, seen);
	}
	if (sql.len == 0)
		return NULL;
	if (nodes != NIL)
		xact_tell_nodes(nodes, sql.data);
	foreach_ptr (Seen, seen, records)
		catalog_object_insert(catalog_object_new(&seen->object));
	CommandCounterIncrement();
	xact_wrote_locally();
	return NULL;
}

/* NULL, or why that isn't possible. */
static char *
publish_dependencies(const ObjectAddress *object)
{
	Walk walk = {.making = object->classId == RewriteRelationId};

	walk_object(&walk, object->classId, object->objectId);
	return walk.reason != NULL ? walk.reason : made_publish(walk.made, NULL);
}

void
dependency_refuse(const ObjectAddress *object, const char *reason)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("%s cannot be created on the other nodes",
						   getObjectDescription(object, false)),
					errdetail("%s", reason)));
}

void
dependency_ensure(const ObjectAddress *object)
{
	char *reason = publish_dependencies(object);

	if (reason != NULL)
		dependency_refuse(object, reason);
}

void
dependency_unpublish(const ObjectAddress *object, const char *reason)
{
	if (node_list(NODES_OTHER) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s cannot be changed on the other nodes",
						getObjectDescription(object, false)),
				 errdetail("%s", reason),
				 errhint("Drop it and create it anew to have it on this node alone.")));
	catalog_object_delete(object);
}

void
dependency_follow(const ObjectAddress *object)
{
	char *reason = publish_dependencies(object);

	if (reason != NULL)
		dependency_unpublish(object, reason);
}

char *
dependency_publish(const ObjectAddress *object)
{
	Walk walk = {0};

	walk_object(&walk, object->classId, object->objectId);
	return walk.reason != NULL ? walk.reason : made_publish(walk.made, object);
}

List *
dependency_all_commands(bool on_tables)
{
	Walk walk = {0};
	List *commands = NIL;
	ListCell *cell;

	if (ddl_role_propagation)
	{
		foreach (cell, role_all())
			walk_object(&walk, AuthIdRelationId, lfirst_oid(cell));
	}
	foreach_ptr (ObjectRow, row, catalog_object_all())
	{
		ObjectAddress address;

		/* roles may have been dropped in another database */
		ObjectAddressSubSet(address, row->classid, row->objid, row->objsubid);
		if (getObjectDescription(&address, true) == NULL)
			continue;
		walk.reason = NULL;
		walk.making = false;
		walk_object(&walk, row->classid, row->objid);
		if (walk.reason != NULL && !on_tables)
			ereport(WARNING, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							  errmsg("%s is not created on the node", row->type),
							  errdetail("%s", walk.reason)));
	}
	foreach_ptr (Seen, seen, walk.made)
	{
		const ObjectAddress *object = &seen->object;
		char *command = role_is_skipped(object) || seen->on_table != on_tables
							? NULL
							: object_make_command(object, false);

		if (command == NULL)
			continue;
		commands = lappend(commands, command);
		if (catalog_object_find(object) == NULL)
			catalog_object_insert(catalog_object_new(object));
	}
	if (!on_tables)
		return commands;
	foreach_ptr (ObjectRow, row, catalog_object_all())
	{
		if (row->colocationid >= 0 &&
			SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(row->objid)))
			commands = lappend(commands, object_distribute_command(row));
	}
	/* Last, for they are about what is made from then on. */
	commands = list_concat(commands, role_setting_commands(InvalidOid));
	commands = list_concat(
		commands, sql_column("SELECT pando.default_privileges_commands(oid) FROM "
							 "pg_catalog.pg_default_acl"));
	if (!ddl_role_propagation)
		return commands; /* the roles may not be there */
	commands = list_concat(commands, sql_column("SELECT pando.role_late_commands()"));
	return list_concat(commands, sql_column("SELECT pando.found_privileges_commands()"));
}

static void
run_commands(ArrayType *array)
{
	Datum *commands;
	int count;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &commands, NULL, &count);
	for (int i = 0; i < count; i++)
		(void) sql_run_as_is(TextDatumGetCString(commands[i]));
}

/*
 * SQL: runs the commands that make an object; where an expression says that it is there
 * already, those that change it instead (none, maybe). With the rights of the current
 * user. What is to be said of it was said where it was made first.
 */
Datum
object_create(PG_FUNCTION_ARGS)
{
	char *probe = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int guc_level = NewGUCNestLevel();

	set_config_option("search_path", "pg_catalog", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	set_config_option("check_function_bodies", "off", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	/* The node that leads has said all that there is to say. */
	set_config_option("client_min_messages", "error", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	if (sql_value("SELECT %s", probe) == NULL)
		run_commands(PG_GETARG_ARRAYTYPE_P(1));
	else
		run_commands(PG_GETARG_ARRAYTYPE_P(2));
	AtEOXact_GUC(true, guc_level);
	PG_RETURN_VOID();
}

/*
 * SQL: runs a command that a node has made, with the rights of a role and in no way that
 * lasts. What users' code it comes to run is deeper than an order of nodes reaches.
 */
Datum
run_as(PG_FUNCTION_ARGS)
{
	Oid role;
	Oid userid;
	int context;

	xact_require_node("pando.run_as()");
	role = get_role_oid(text_to_cstring(PG_GETARG_TEXT_PP(0)), false);
	GetUserIdAndSecContext(&userid, &context);
	SetUserIdAndSecContext(role, context | SECURITY_LOCAL_USERID_CHANGE |
									 SECURITY_RESTRICTED_OPERATION);
	(void) sql_run_as_is(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	SetUserIdAndSecContext(userid, context);
	PG_RETURN_VOID();
}

char *
dependency_run_as(Oid owner, const char *sql)
{
	if (!OidIsValid(owner) || has_privs_of_role(GetUserId(), owner))
		return NULL;
	return psprintf("SELECT pando.run_as(%s, %s)",
					quote_literal_cstr(GetUserNameFromId(owner, false)),
					quote_literal_cstr(sql));
}
