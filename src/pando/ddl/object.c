/*
 * object.c: statements on schemas, types, functions, roles, extensions and so on.
 *
 * What is created goes to all nodes at once, from the catalogs, through dependency.c;
 * when that can't be done (it needs a local table, say) it stays on the coordinator. What
 * is recorded in pg_dist_object and then changed, renamed, granted or dropped: the
 * statement's text goes to all nodes. ALTER ROLE goes from the catalogs, so that
 * passwords travel hashed.
 */
#include "pando/compat/compat.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "catalog/pg_user_mapping.h"
#include "catalog/dependency.h"
#include "commands/defrem.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "nodes/makefuncs.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/base/sql.h"
#include "pando/catalog/object.h"
#include "pando/ddl/database.h"
#include "pando/ddl/dependency.h"
#include "pando/ddl/drop.h"
#include "pando/ddl/kind.h"
#include "pando/ddl/local_shell.h"
#include "pando/ddl/object.h"
#include "pando/ddl/sequence.h"
#include "pando/ddl/settings.h"
#include "pando/ddl/statements.h"
#include "pando/ddl/view.h"
#include "pando/metadata/node.h"
#include "pando/transaction/xact.h"

/* ------------------------------------------------------------------------------------
 * Is it everywhere?
 */

static bool
object_is_everywhere(Oid class_id, Oid object_id)
{
	ObjectAddress address;

	if (!OidIsValid(object_id))
		return false;
	if (object_id < FirstNormalObjectId)
		return true;
	ObjectAddressSet(address, class_id, object_id);
	return catalog_object_find(&address) != NULL;
}

bool
object_schema_is_everywhere(const char *name)
{
	return object_is_everywhere(NamespaceRelationId, get_namespace_oid(name, true));
}

bool
object_is_row_type(Oid relid)
{
	return OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_COMPOSITE_TYPE &&
		   object_is_everywhere(TypeRelationId, get_rel_type_id(relid));
}

bool
object_role_is_everywhere(Oid roleid)
{
	return object_is_everywhere(AuthIdRelationId, roleid);
}

bool
object_roles_are_everywhere(List *roles)
{
	foreach_ptr (RoleSpec, role, roles)
	{
		if (role->roletype != ROLESPEC_PUBLIC &&
			!object_role_is_everywhere(get_rolespec_oid(role, true)))
			return false;
	}
	return true;
}

bool
object_comes_along(Oid class_id, Oid object_id)
{
	Oid extension;

	if (class_id == DatabaseRelationId)
		return object_id == MyDatabaseId;
	if (!OidIsValid(object_id) || object_id < FirstNormalObjectId)
		return OidIsValid(object_id);
	extension = getExtensionOfObject(class_id, object_id);
	return OidIsValid(extension) &&
		   (extension == get_extension_oid("pando", true) ||
			object_is_everywhere(ExtensionRelationId, extension));
}

void
object_ensure_roles(List *roles)
{
	foreach_ptr (RoleSpec, role, roles)
	{
		ObjectAddress address;

		if (role->roletype == ROLESPEC_PUBLIC)
			continue;
		ObjectAddressSet(address, AuthIdRelationId, get_rolespec_oid(role, true));
		if (OidIsValid(address.objectId) && ddl_role_propagation &&
			!object_role_is_everywhere(address.objectId))
			dependency_ensure(&address);
	}
}

ObjectFacts
object_facts(const ObjectAddress *object)
{
	ObjectFacts facts = {0};
	Relation catalog = table_open(object->classId, AccessShareLock);
	HeapTuple tuple = get_catalog_object_by_oid(
		catalog, get_object_attnum_oid(object->classId), object->objectId);
	AttrNumber columns[] = {get_object_attnum_namespace(object->classId),
							get_object_attnum_name(object->classId),
							get_object_attnum_owner(object->classId)};
	Datum values[lengthof(columns)] = {0};
	bool nulls[lengthof(columns)];

	for (int i = 0; i < lengthof(columns) && HeapTupleIsValid(tuple); i++)
	{
		if (columns[i] != InvalidAttrNumber)
			values[i] =
				heap_getattr(tuple, columns[i], RelationGetDescr(catalog), &nulls[i]);
	}
	if (values[0] != 0)
		facts.schema = get_namespace_name(DatumGetObjectId(values[0]));
	if (values[1] != 0)
		facts.name = pstrdup(NameStr(*DatumGetName(values[1])));
	facts.owner = DatumGetObjectId(values[2]);
	table_close(catalog, AccessShareLock);
	return facts;
}

/* ------------------------------------------------------------------------------------
 * What is a statement about?
 */

/* One object as get_object_address() wants it. */
typedef struct NamedObject
{
	ObjectType type;
	Node *object;
} NamedObject;

static List *
named(List *objects, ObjectType type, void *object)
{
	NamedObject *named = palloc(sizeof(NamedObject));

	named->type = type;
	named->object = object;
	return lappend(objects, named);
}

static List *
named_roles(List *roles)
{
	List *objects = NIL;

	foreach_ptr (RoleSpec, role, roles)
	{
		if (role->roletype == ROLESPEC_CSTRING)
			objects = named(objects, OBJECT_ROLE, makeString(role->rolename));
	}
	return objects;
}

static List *
named_by_rename(RenameStmt *stmt)
{
	switch (stmt->renameType)
	{
		case OBJECT_SCHEMA:
		case OBJECT_ROLE:
		case OBJECT_DATABASE:
			return named(NIL, stmt->renameType, makeString(stmt->subname));
		case OBJECT_DOMCONSTRAINT:
			return named(NIL, OBJECT_DOMAIN, stmt->object);
		default:
			return named(NIL, stmt->renameType, stmt->object);
	}
}

static List *
named_user_mapping(RoleSpec *user, char *server)
{
	char *name = user->roletype == ROLESPEC_PUBLIC ? "public"
				 : user->roletype == ROLESPEC_CSTRING
					 ? user->rolename
					 : GetUserNameFromId(get_rolespec_oid(user, false), false);

	return named(NIL, OBJECT_USER_MAPPING,
				 list_make2(makeString(name), makeString(server)));
}

/* A relation's name as a view's or a composite type's. */
static List *
named_by_relation(RangeVar *relation)
{
	List *names = list_make1(makeString(relation->relname));
	Oid relid = RangeVarGetRelid(relation, NoLock, true);

	if (relation->schemaname != NULL)
		names = lcons(makeString(relation->schemaname), names);
	if (kind_is_view(relid))
		return named(
			NIL, get_rel_relkind(relid) == RELKIND_VIEW ? OBJECT_VIEW : OBJECT_MATVIEW,
			names);
	return named(NIL, OBJECT_TYPE, names);
}

static List *
named_by_list(ObjectType type, List *list)
{
	List *objects = NIL;

	foreach_ptr (Node, object, list)
		objects = named(objects, type, object);
	return objects;
}

/* NIL for kinds of statements and objects that are never recorded. */
static List *
statement_objects(Node *stmt)
{
	switch (nodeTag(stmt))
	{
		case T_RenameStmt:
			if (((RenameStmt *) stmt)->relation != NULL)
				return named_by_relation(((RenameStmt *) stmt)->relation);
			return named_by_rename((RenameStmt *) stmt);
		case T_AlterObjectSchemaStmt:
			if (((AlterObjectSchemaStmt *) stmt)->relation != NULL)
				return named_by_relation(((AlterObjectSchemaStmt *) stmt)->relation);
			return named(NIL, ((AlterObjectSchemaStmt *) stmt)->objectType,
						 ((AlterObjectSchemaStmt *) stmt)->object);
		case T_AlterObjectDependsStmt:
			if (((AlterObjectDependsStmt *) stmt)->relation != NULL)
				return named_by_relation(((AlterObjectDependsStmt *) stmt)->relation);
			return named(NIL, ((AlterObjectDependsStmt *) stmt)->objectType,
						 ((AlterObjectDependsStmt *) stmt)->object);
		case T_AlterOwnerStmt:
			return named(NIL, ((AlterOwnerStmt *) stmt)->objectType,
						 ((AlterOwnerStmt *) stmt)->object);
		case T_AlterTableStmt:
			return named_by_relation(((AlterTableStmt *) stmt)->relation);
		case T_CommentStmt:
			if (((CommentStmt *) stmt)->objtype == OBJECT_DOMCONSTRAINT)
				return named(
					NIL, OBJECT_DOMAIN,
					((TypeName *) linitial((List *) ((CommentStmt *) stmt)->object)));
			return named(NIL, ((CommentStmt *) stmt)->objtype,
						 ((CommentStmt *) stmt)->object);
		case T_SecLabelStmt:
			return named(NIL, ((SecLabelStmt *) stmt)->objtype,
						 ((SecLabelStmt *) stmt)->object);
		case T_AlterEnumStmt:
			return named(NIL, OBJECT_TYPE, ((AlterEnumStmt *) stmt)->typeName);
		case T_AlterTypeStmt:
			return named(NIL, OBJECT_TYPE, ((AlterTypeStmt *) stmt)->typeName);
		case T_AlterDomainStmt:
			return named(NIL, OBJECT_DOMAIN, ((AlterDomainStmt *) stmt)->typeName);
		case T_AlterFunctionStmt:
			return named(NIL, ((AlterFunctionStmt *) stmt)->objtype,
						 ((AlterFunctionStmt *) stmt)->func);
		case T_AlterRoleSetStmt:
			return ((AlterRoleSetStmt *) stmt)->role == NULL
					   ? NIL
					   : named_roles(list_make1(((AlterRoleSetStmt *) stmt)->role));
		case T_DropRoleStmt:
			return named_roles(((DropRoleStmt *) stmt)->roles);
		case T_AlterExtensionStmt:
			return named(NIL, OBJECT_EXTENSION,
						 makeString(((AlterExtensionStmt *) stmt)->extname));
		case T_AlterExtensionContentsStmt:
			return named(NIL, OBJECT_EXTENSION,
						 makeString(((AlterExtensionContentsStmt *) stmt)->extname));
		case T_AlterOperatorStmt:
			return named(NIL, OBJECT_OPERATOR, ((AlterOperatorStmt *) stmt)->opername);
		case T_AlterOpFamilyStmt:
			return named(NIL, OBJECT_OPFAMILY,
						 lcons(makeString(((AlterOpFamilyStmt *) stmt)->amname),
							   list_copy(((AlterOpFamilyStmt *) stmt)->opfamilyname)));
		case T_AlterFdwStmt:
			return named(NIL, OBJECT_FDW, makeString(((AlterFdwStmt *) stmt)->fdwname));
		case T_AlterForeignServerStmt:
			return named(NIL, OBJECT_FOREIGN_SERVER,
						 makeString(((AlterForeignServerStmt *) stmt)->servername));
		case T_AlterUserMappingStmt:
			return named_user_mapping(((AlterUserMappingStmt *) stmt)->user,
									  ((AlterUserMappingStmt *) stmt)->servername);
		case T_DropUserMappingStmt:
			return named_user_mapping(((DropUserMappingStmt *) stmt)->user,
									  ((DropUserMappingStmt *) stmt)->servername);
		case T_AlterPublicationStmt:
			return named(NIL, OBJECT_PUBLICATION,
						 makeString(((AlterPublicationStmt *) stmt)->pubname));
		case T_AlterDatabaseStmt:
			return named(NIL, OBJECT_DATABASE,
						 makeString(((AlterDatabaseStmt *) stmt)->dbname));
		case T_AlterDatabaseSetStmt:
			return named(NIL, OBJECT_DATABASE,
						 makeString(((AlterDatabaseSetStmt *) stmt)->dbname));
		case T_AlterEventTrigStmt:
			return named(NIL, OBJECT_EVENT_TRIGGER,
						 makeString(((AlterEventTrigStmt *) stmt)->trigname));
		case T_AlterCollationStmt:
			return named(NIL, OBJECT_COLLATION, ((AlterCollationStmt *) stmt)->collname);
		case T_AlterTSDictionaryStmt:
			return named(NIL, OBJECT_TSDICTIONARY,
						 ((AlterTSDictionaryStmt *) stmt)->dictname);
		case T_AlterTSConfigurationStmt:
			return named(NIL, OBJECT_TSCONFIGURATION,
						 ((AlterTSConfigurationStmt *) stmt)->cfgname);
		case T_GrantStmt:
			return named_by_list(((GrantStmt *) stmt)->objtype,
								 ((GrantStmt *) stmt)->objects);
		case T_DropStmt:
			return named_by_list(((DropStmt *) stmt)->removeType,
								 ((DropStmt *) stmt)->objects);
		default:
			return NIL;
	}
}

/* PostgreSQL's function for it raises when the role is missing. */
static bool
user_mapping_resolve(List *names, ObjectAddress *address)
{
	char *id =
		sql_value("SELECT umid FROM pg_catalog.pg_user_mappings WHERE usename = %s "
				  "AND srvname = %s",
				  quote_literal_cstr(strVal(linitial(names))),
				  quote_literal_cstr(strVal(lsecond(names))));

	ObjectAddressSet(*address, UserMappingRelationId,
					 id == NULL ? InvalidOid : atooid(id));
	return OidIsValid(address->objectId);
}

/* The address of a named object, which is then locked; false when there is none. */
static bool
named_resolve(DdlJob *job, NamedObject *named, ObjectAddress *address)
{
	const ObjectKind *kind = kind_of_type(named->type);
	Relation rel = NULL;
	Node *object = named->object;

	if (kind == NULL || kind->place != KIND_EVERYWHERE)
		return false;
	if (named->type == OBJECT_USER_MAPPING)
		return user_mapping_resolve((List *) object, address);
	if ((named->type == OBJECT_TYPE || named->type == OBJECT_DOMAIN) && IsA(object, List))
		object = (Node *) makeTypeNameFromNameList((List *) object);
	*address = get_object_address(named->type, object, &rel, AccessShareLock, true);
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	if (OidIsValid(address->objectId) && address->classId != RelationRelationId)
		job->looked_up = lappend(job->looked_up, address);
	return OidIsValid(address->objectId);
}

/* ------------------------------------------------------------------------------------
 * Handlers
 */

void
object_prepare(DdlJob *job)
{
	if (job->applying)
	{
		job->concerned = true;
		return;
	}
	foreach_ptr (NamedObject, object, statement_objects(job->stmt))
	{
		ObjectAddress *address = palloc(sizeof(ObjectAddress));

		if (!named_resolve(job, object, address))
			continue;
		if (address->objectId >= FirstNormalObjectId &&
			catalog_object_find(address) != NULL)
		{
			job->concerned = true;
			job->objects = lappend(job->objects, address);
		}
		job->concerned |= object_comes_along(address->classId, address->objectId);
	}
}

/* Is it DROP EXTENSION of our own? */
static bool
drops_extension(DropStmt *stmt)
{
	if (stmt->removeType != OBJECT_EXTENSION)
		return false;
	foreach_ptr (String, name, stmt->objects)
	{
		if (strcmp(name->sval, "pando") == 0)
			return true;
	}
	return false;
}

void
object_drop_prepare(DdlJob *job)
{
	if (IsA(job->stmt, DropStmt) && drops_extension((DropStmt *) job->stmt))
		return;
	if (IsA(job->stmt, DropRoleStmt) && !ddl_role_propagation)
		return;
	object_prepare(job);
	if (!job->applying && IsA(job->stmt, DropStmt))
		local_shells_lock_dropped((DropStmt *) job->stmt);
	if (job->applying && IsA(job->stmt, DropStmt))
		((DropStmt *) job->stmt)->missing_ok = true;
	else if (job->applying)
		((DropRoleStmt *) job->stmt)->missing_ok = true;
}

void
object_create_prepare(DdlJob *job)
{
	bool is_role = IsA(job->stmt, CreateRoleStmt) || IsA(job->stmt, AlterRoleStmt);
	bool is_type = job->handler->capture_class == TypeRelationId;

	if (job->applying || creating_extension || (is_role && !ddl_role_propagation) ||
		(IsA(job->stmt, AlterRoleStmt) && !ddl_alter_role_propagation) ||
		(is_type && !ddl_type_propagation))
		return;
	if (IsA(job->stmt, CreateExtensionStmt) &&
		strcmp(((CreateExtensionStmt *) job->stmt)->extname, "pando") == 0)
		return;
	job->concerned = true;
}

/* What makes no row: the role of ALTER ROLE, the view of CREATE OR REPLACE. */
static List *
object_altered(Node *stmt)
{
	Oid roleid;

	if (IsA(stmt, ViewStmt))
		return list_make1_oid(RangeVarGetRelid(((ViewStmt *) stmt)->view, NoLock, false));
	if (!IsA(stmt, AlterRoleStmt))
		return NIL;
	roleid = get_rolespec_oid(((AlterRoleStmt *) stmt)->role, true);
	return OidIsValid(roleid) && roleid >= FirstNormalObjectId ? list_make1_oid(roleid)
															   : NIL;
}

/*
 * Makes an object on the other nodes, if it can be there. One that they have can't become
 * this node's alone (dependency_unpublish): theirs would be another.
 */
static void
publish(Oid class_id, Oid object_id)
{
	ObjectAddress address;
	char *reason;

	if (class_id == RelationRelationId && !kind_is_view(object_id))
		return;
	ObjectAddressSet(address, class_id, object_id);
	reason = dependency_publish(&address);
	if (reason != NULL && catalog_object_find(&address) != NULL)
		dependency_unpublish(&address, reason);
	if (reason != NULL && ddl_enforce_restrictions)
		dependency_refuse(&address, reason);
	if (reason != NULL)
		ereport(DEBUG1, (errmsg_internal("%s stays on this node",
										 getObjectDescription(&address, false)),
						 errdetail_internal("%s", reason)));
	else if (class_id == RelationRelationId &&
			 get_rel_relkind(object_id) == RELKIND_MATVIEW)
		view_rows_send(object_id);
}

/* Members that CREATE ROLE and ALTER GROUP give a role, or take away: rows of none of
 * them. */
static void
publish_members(const char *role, List *options, bool take_away)
{
	List *nodes = node_list(NODES_OTHER);

	foreach_ptr (DefElem, option, options)
	{
		bool admin = strcmp(option->defname, "adminmembers") == 0;

		if ((!admin && strcmp(option->defname, "rolemembers") != 0) || nodes == NIL)
			continue;
		object_ensure_roles((List *) option->arg);
		foreach_ptr (RoleSpec, member, (List *) option->arg)
		{
			const char *name = quote_identifier(
				GetUserNameFromId(get_rolespec_oid(member, false), false));

			char *command =
				take_away ? psprintf("REVOKE %s FROM %s", quote_identifier(role), name)
						  : psprintf("GRANT %s TO %s%s", quote_identifier(role), name,
									 admin ? " WITH ADMIN OPTION" : "");

			xact_run_on_nodes(nodes, psprintf("SELECT pando.ddl_apply(%s, '{}', '')",
											  quote_literal_cstr(command)));
		}
	}
}

static void
publish_made(DdlJob *job)
{
	Oid class_id = job->handler->capture_class;
	List *made;
	ListCell *cell;

	CommandCounterIncrement();
	made = list_concat_unique_oid(list_copy(drop_scope_captured()),
								  object_altered(job->stmt));
	foreach (cell, made)
		publish(class_id, lfirst_oid(cell));
	if (IsA(job->stmt, CreateSchemaStmt) && made != NIL)
	{
		foreach_oid(view, view_in_schema(linitial_oid(made)))
			publish(RelationRelationId, view);
	}
	if (IsA(job->stmt, CreateRoleStmt))
		publish_members(((CreateRoleStmt *) job->stmt)->role,
						((CreateRoleStmt *) job->stmt)->options, false);
	else if (IsA(job->stmt, AlterRoleStmt) && made != NIL)
		publish_members(GetUserNameFromId(linitial_oid(made), false),
						((AlterRoleStmt *) job->stmt)->options,
						((AlterRoleStmt *) job->stmt)->action < 0);
}

bool
object_create_run(DdlJob *job)
{
	job->on_rows = IsA(job->stmt, CreateTableAsStmt);
	job->spread = publish_made;
	drop_scope_capture(job->handler->capture_class);
	job_run_shell(job);
	job_spread(job);
	return true;
}

/* DROP OWNED, REASSIGN OWNED: on all nodes if the roles are there. */
void
owned_prepare(DdlJob *job)
{
	List *roles = IsA(job->stmt, DropOwnedStmt)
					  ? ((DropOwnedStmt *) job->stmt)->roles
					  : ((ReassignOwnedStmt *) job->stmt)->roles;

	job->concerned = job->applying || object_roles_are_everywhere(roles);
	if (IsA(job->stmt, ReassignOwnedStmt) && job->concerned && !job->applying)
		object_ensure_roles(list_make1(((ReassignOwnedStmt *) job->stmt)->newrole));
}

/* ALTER DEFAULT PRIVILEGES: on all nodes if roles and schemas are there. */
void
default_privileges_prepare(DdlJob *job)
{
	AlterDefaultPrivilegesStmt *stmt = (AlterDefaultPrivilegesStmt *) job->stmt;

	job->concerned = true;
	if (job->applying)
		return;
	foreach_ptr (DefElem, option, stmt->options)
	{
		if (strcmp(option->defname, "roles") == 0 &&
			!object_roles_are_everywhere((List *) option->arg))
			job->concerned = false;
		if (strcmp(option->defname, "schemas") != 0)
			continue;
		foreach_ptr (String, schema, (List *) option->arg)
			job->concerned &= object_schema_is_everywhere(schema->sval);
	}
	if (job->concerned)
		object_ensure_roles(stmt->action->grantees);
}

/* ALTER ROLE ... SET: of a role that all nodes have, or of all roles; in all databases or
 * one that all nodes have. */
void
role_set_prepare(DdlJob *job)
{
	AlterRoleSetStmt *stmt = (AlterRoleSetStmt *) job->stmt;

	if (!job->applying &&
		(!ddl_alter_role_set_propagation ||
		 (stmt->database != NULL && !database_is_everywhere(stmt->database))))
		return;
	object_prepare(job);
	if (stmt->role == NULL ||
		object_role_is_everywhere(get_rolespec_oid(stmt->role, true)))
		job->concerned = true;
}

/* ------------------------------------------------------------------------------------
 * Sequences: those of distributed tables are on all nodes
 */

/* Without those that set bounds and position: they are each node's own. */
List *
sequence_options_of_node(List *options)
{
	static const char *const own[] = {"restart", "start", "minvalue", "maxvalue"};
	List *kept = NIL;

	foreach_ptr (DefElem, option, options)
	{
		bool is_own = false;

		for (int i = 0; i < lengthof(own); i++)
			is_own = is_own || strcmp(option->defname, own[i]) == 0;
		if (!is_own)
			kept = lappend(kept, option);
	}
	return kept;
}

void
sequence_alter_prepare(DdlJob *job)
{
	AlterSeqStmt *stmt = (AlterSeqStmt *) job->stmt;
	Oid seqid = RangeVarGetRelid(stmt->sequence, NoLock, true);

	if (!OidIsValid(seqid) || !OidIsValid(sequence_distributed_table(seqid)))
		return;
	job->concerned = true;
	if (node_is_coordinator())
		return;
	stmt->options = sequence_options_of_node(stmt->options);
	foreach_ptr (DefElem, option, stmt->options)
	{
		if (strcmp(option->defname, "as") == 0)
			sequence_before_type(seqid, defGetTypeName(option));
	}
	if (stmt->options == NIL && job->applying)
		job->concerned = false;
}

void
sequence_alter_finish(DdlJob *job)
{
	Oid seqid = RangeVarGetRelid(((AlterSeqStmt *) job->stmt)->sequence, NoLock, true);

	if (OidIsValid(seqid) && !node_is_coordinator())
		sequence_fit(seqid);
}

/* DROP SEQUENCE: those of distributed tables, where CASCADE takes defaults with them. */
void
sequence_drop_prepare(DdlJob *job)
{
	DropStmt *stmt = (DropStmt *) job->stmt;

	if (job->applying)
		stmt->missing_ok = true;
	foreach_ptr (List, names, stmt->objects)
	{
		Oid seqid = RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true);

		if (OidIsValid(seqid) && OidIsValid(sequence_distributed_table(seqid)))
			job->concerned = true;
	}
}
