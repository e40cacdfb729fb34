/*
 * grant.c: GRANT and REVOKE.
 *
 * On tables and columns: shells and shards, for a node checks a user's rights on its
 * shards. ALL TABLES IN SCHEMA covers the shards on each node by itself. On objects that
 * are recorded, and on what is built in or an extension's: all nodes. On roles and
 * parameters: all nodes.
 */
#include "pando/compat/compat.h"

#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "pando/ddl/database.h"
#include "pando/ddl/object.h"
#include "pando/ddl/sequence.h"
#include "pando/ddl/settings.h"
#include "pando/ddl/statements.h"
#include "pando/ddl/view.h"
#include "pando/metadata/table.h"

/* A copy of the statement for one of its relations. */
static Node *
grant_single(GrantStmt *stmt, RangeVar *relation)
{
	GrantStmt *single = copyObject(stmt);

	single->objects = list_make1(copyObject(relation));
	return (Node *) single;
}

static void
grant_on_relations(DdlJob *job)
{
	GrantStmt *stmt = (GrantStmt *) job->stmt;
	List *ours = NIL;

	foreach_ptr (RangeVar, relation, stmt->objects)
	{
		Oid relid = RangeVarGetRelid(relation, NoLock, true);

		if (!OidIsValid(relid))
			continue;
		if (get_rel_relkind(relid) == RELKIND_SEQUENCE)
		{
			if (!OidIsValid(sequence_distributed_table(relid)))
				continue;
			job->concerned = true;
		}
		else if (view_is_everywhere(relid))
			view_prepare(job, relation);
		else
		{
			if (OidIsValid(job_distributed_table(relation)))
			{
				job_add_table(job, relid);
				job_add_shards(job, relid, grant_single(stmt, relation));
			}
			else if (object_comes_along(RelationRelationId, relid))
				job->concerned = true;
			else
				continue;
		}
		ours = lappend(ours, relation);
	}
	if (job->applying)
		stmt->objects = ours;
}

/* GRANT ... ON ALL ... IN SCHEMA: the schemas that are on all nodes. */
static void
grant_in_schemas(DdlJob *job)
{
	GrantStmt *stmt = (GrantStmt *) job->stmt;
	List *ours = NIL;

	foreach_ptr (String, schema, stmt->objects)
	{
		if (object_schema_is_everywhere(schema->sval))
			ours = lappend(ours, schema);
	}
	job->concerned = ours != NIL;
	if (job->applying)
		stmt->objects = ours;
}

/* Those that are on all nodes. */
static void
grant_on_databases(DdlJob *job)
{
	GrantStmt *stmt = (GrantStmt *) job->stmt;
	List *ours = NIL;

	foreach_ptr (String, name, stmt->objects)
	{
		if (database_is_everywhere(name->sval))
			ours = lappend(ours, name);
	}
	job->concerned = ours != NIL;
	if (job->applying)
		stmt->objects = ours;
}

void
grant_prepare(DdlJob *job)
{
	GrantStmt *stmt = (GrantStmt *) job->stmt;

	if (stmt->targtype == ACL_TARGET_ALL_IN_SCHEMA)
		grant_in_schemas(job);
	else if (stmt->targtype != ACL_TARGET_OBJECT)
		return;
	else if (stmt->objtype == OBJECT_TABLE || stmt->objtype == OBJECT_SEQUENCE)
		grant_on_relations(job);
	else if (stmt->objtype == OBJECT_DATABASE)
		grant_on_databases(job);
	else if (stmt->objtype == OBJECT_PARAMETER_ACL)
		job->concerned = true;
	else
		object_prepare(job);
	if (job->concerned && !job->applying)
		object_ensure_roles(stmt->grantees);
}

void
grant_role_prepare(DdlJob *job)
{
	GrantRoleStmt *stmt = (GrantRoleStmt *) job->stmt;
	List *roles = NIL;

	if (!ddl_role_propagation)
		return;
	if (job->applying)
	{
		job->concerned = true;
		return;
	}
	foreach_ptr (AccessPriv, role, stmt->granted_roles)
	{
		Oid id = get_role_oid(role->priv_name, true);

		if (OidIsValid(id) && id >= FirstNormalObjectId && !object_role_is_everywhere(id))
			return;
	}
	foreach_ptr (RoleSpec, role, stmt->grantee_roles)
		roles = lappend(roles, role);
	job->concerned = object_roles_are_everywhere(roles);
}
