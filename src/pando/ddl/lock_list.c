/*
 * lock_list.c: what a statement locks.
 *
 * Two statements that change the same thing from two nodes have to meet on one of them,
 * before either has changed anything: on the coordinator (lead.c). Of relations that is
 * PostgreSQL's own lock, in the mode that the statement takes. PostgreSQL has none for an
 * object that is about to come to be, and often none for one that is changed, so the name
 * is locked: exclusively by what makes, changes or drops the object, shared by what is
 * made in a schema of that name.
 *
 * What a drop takes along, a constraint's and a column's as well, is found by the way
 * that PostgreSQL goes, from dependency to dependency. It locks what stands in a drop's
 * way, too, before it refuses.
 */
#include "pando/compat/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/partition.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "commands/tablecmds.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "pando/base/name.h"
#include "pando/base/sql.h"
#include "pando/ddl/column_default.h"
#include "pando/ddl/kind.h"
#include "pando/ddl/lock_list.h"
#include "pando/ddl/object.h"
#include "pando/ddl/partition.h"
#include "pando/metadata/table.h"

#define OBJECT_LOCK                                                                      \
	4711 /* the fourth number of a lock's tag, where users have 1 and 2                  \
		  */

static LOCKTAG
object_tag(const char *name)
{
	uint64 hash = hash_bytes_extended((const unsigned char *) name, strlen(name), 0);
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (hash >> 32), (uint32) hash,
						 OBJECT_LOCK);
	return tag;
}

void
lock_list_take_object(const char *name, LOCKMODE mode)
{
	LOCKTAG tag = object_tag(name);

	(void) LockAcquire(&tag, mode, false, false);
}

bool
lock_list_has_object(const char *name, LOCKMODE mode)
{
	LOCKTAG tag = object_tag(name);

	return compat_lock_is_held(&tag, mode);
}

/* ------------------------------------------------------------------------------------
 * Relations
 */

static DdlLock *
lock_new(Oid relid, const char *name, LOCKMODE mode)
{
	DdlLock *lock = palloc(sizeof(DdlLock));

	*lock = (DdlLock){relid, name, mode};
	return lock;
}

void
lock_list_add(DdlJob *job, Oid relid, LOCKMODE mode)
{
	const DistTable *table = OidIsValid(relid) ? dist_table(relid) : NULL;

	if (table != NULL && !table->managed_local && !job->applying)
		job->locks = lappend(job->locks, lock_new(relid, name_qualified(relid), mode));
}

/* Does it change an index or a statistics object of the table, which alone is locked? */
static bool
is_of_part(const DdlJob *job)
{
	const Node *stmt = job->stmt;
	int type = handler_object_type(job->stmt);
	const RangeVar *relation =
		IsA(stmt, AlterTableStmt) ? ((const AlterTableStmt *) stmt)->relation
		: IsA(stmt, RenameStmt)	  ? ((const RenameStmt *) stmt)->relation
								  : NULL;

	if (type == OBJECT_STATISTIC_EXT && !IsA(stmt, CommentStmt))
		return true;
	if (relation == NULL || type == OBJECT_COLUMN || type == OBJECT_TABCONSTRAINT)
		return false;
	return partition_relkind_is_index(
		get_rel_relkind(RangeVarGetRelid(relation, NoLock, true)));
}

/*
 * The strongest lock that PostgreSQL takes on a table for the statement, or one that
 * keeps out another of its kind, too: two whose locks get along would come to raise them.
 * None where the nodes' work outside the transaction would wait for us.
 */
static LOCKMODE
mode_of(const DdlJob *job)
{
	if (job->outside)
		return NoLock;
	if (is_of_part(job))
		return ShareUpdateExclusiveLock;
	switch (nodeTag(job->stmt))
	{
		case T_AlterTableStmt:
			return AlterTableGetLockLevel(((AlterTableStmt *) job->stmt)->cmds);
		case T_IndexStmt:
		case T_ReindexStmt:
		case T_CreateTrigStmt:
			return ShareRowExclusiveLock;
		case T_LockStmt:
			return ((LockStmt *) job->stmt)->mode;
		case T_RenameStmt:
			return ((RenameStmt *) job->stmt)->renameType == OBJECT_INDEX
					   ? ShareUpdateExclusiveLock
					   : AccessExclusiveLock;
		case T_ConstraintsSetStmt:
			return NoLock;
		case T_CommentStmt:
		case T_SecLabelStmt:
		case T_GrantStmt:
		case T_CreateStatsStmt:
		case T_AlterStatsStmt:
			return ShareUpdateExclusiveLock;
		default:
			return AccessExclusiveLock;
	}
}

/* Does PostgreSQL let the user come as far as the lock? */
static bool
may_lock(const Node *stmt, Oid relid)
{
	return compat_owns_relation(relid, GetUserId()) ||
		   ((IsA(stmt, LockStmt) || IsA(stmt, TruncateStmt)) &&
			pg_class_aclcheck(relid, GetUserId(),
							  IsA(stmt, TruncateStmt) ? ACL_TRUNCATE
													  : ACL_UPDATE | ACL_DELETE |
															ACL_TRUNCATE) == ACLCHECK_OK);
}

/* Does the statement go on to the table's partitions? */
static bool
takes_partitions(const Node *stmt)
{
	return IsA(stmt, AlterTableStmt) || IsA(stmt, IndexStmt) || IsA(stmt, TruncateStmt) ||
		   IsA(stmt, LockStmt) || IsA(stmt, CreateTrigStmt) ||
		   (IsA(stmt, RenameStmt) &&
			((const RenameStmt *) stmt)->renameType == OBJECT_COLUMN);
}

/*
 * The tables above a partition, the uppermost first. Who writes to one of them locks that
 * shell alone, but on the shards the partitions', too: what keeps him out of the
 * partition has to do so there.
 */
static List *
parent_locks(Oid relid, LOCKMODE mode, List *locks)
{
	if (mode < ShareLock || !get_rel_relispartition(relid))
		return locks;
	foreach_oid(parent, get_partition_ancestors(relid)) locks =
		lcons(lock_new(parent, name_qualified(parent), mode), locks);
	return locks;
}

static List *
table_locks(const DdlJob *job, List *locks)
{
	LOCKMODE mode = mode_of(job);

	foreach_oid(relid, mode == NoLock ? NIL : job->tables)
	{
		List *relids;

		/* Its shells come before itself (local_shell.c). */
		if (dist_table_require(relid)->managed_local || !may_lock(job->stmt, relid))
			continue;
		locks = parent_locks(relid, mode, locks);
		relids = takes_partitions(job->stmt) ? find_all_inheritors(relid, NoLock, NULL)
											 : list_make1_oid(relid);
		foreach_oid(each, relids) locks =
			lappend(locks, lock_new(each, name_qualified(each), mode));
	}
	return locks;
}

/* The tables and views of a query's raw tree, which it opens. */
static bool
query_relations(Node *node, List **locks)
{
	Oid relid;

	if (node == NULL)
		return false;
	if (!IsA(node, RangeVar))
		return raw_expression_tree_walker(node, query_relations, locks);
	relid = RangeVarGetRelid((RangeVar *) node, NoLock, true);
	if (OidIsValid(relid) && relid >= FirstNormalObjectId &&
		(dist_table(relid) != NULL || kind_is_view(relid)) &&
		pg_class_aclmask(relid, GetUserId(), ACL_ALL_RIGHTS_RELATION, ACLMASK_ANY) != 0)
		*locks = lappend(*locks, lock_new(relid, name_qualified(relid), AccessShareLock));
	return false;
}

/* ------------------------------------------------------------------------------------
 * Objects
 */

/* One name, and the schema that it is in. */
static List *
name_locks(List *locks, Oid class_id, const char *schema, const char *name)
{
	if (schema != NULL)
		locks = lappend(locks, lock_new(InvalidOid,
										psprintf("%u %s", NamespaceRelationId, schema),
										ShareLock));
	return lappend(locks,
				   lock_new(InvalidOid,
							psprintf("%u %s.%s", class_id, schema == NULL ? "" : schema,
									 name == NULL ? "" : name),
							ExclusiveLock));
}

/*
 * What is made gets the privileges that are the default at that moment, which have to be
 * the same ones on all nodes.
 */
DdlLock *
lock_list_default_privileges(LOCKMODE mode)
{
	return lock_new(InvalidOid, "default privileges", mode);
}

static bool
adds_sequence(const Node *stmt)
{
	foreach_ptr (AlterTableCmd, command, ((const AlterTableStmt *) stmt)->cmds)
	{
		if (command->subtype == AT_AddIdentity ||
			(command->subtype == AT_AddColumn &&
			 column_is_numbered((ColumnDef *) command->def)))
			return true;
	}
	return false;
}

static LOCKMODE
default_privileges_mode(const DdlJob *job)
{
	if (IsA(job->stmt, AlterDefaultPrivilegesStmt))
		return ExclusiveLock;
	if (IsA(job->stmt, AlterTableStmt) ? adds_sequence(job->stmt)
									   : OidIsValid(job->handler->capture_class))
		return ShareLock;
	return NoLock;
}

static List *
default_privileges_locks(const DdlJob *job, List *locks)
{
	LOCKMODE mode = default_privileges_mode(job);

	return mode == NoLock ? locks : lappend(locks, lock_list_default_privileges(mode));
}

void
lock_list_apply(const DdlJob *job)
{
	foreach_ptr (DdlLock, lock, default_privileges_locks(job, NIL))
		lock_list_take_object(lock->name, lock->mode);
}

/* A schema's name is locked shared by what is in it, so it has no other form. */
static List *
schema_locks(List *locks, const char *name)
{
	return name == NULL
			   ? locks
			   : lappend(locks, lock_new(InvalidOid,
										 psprintf("%u %s", NamespaceRelationId, name),
										 ExclusiveLock));
}

static List *
named_locks(List *locks, Oid class_id, const char *schema, const char *name)
{
	return class_id == NamespaceRelationId ? schema_locks(locks, name)
										   : name_locks(locks, class_id, schema, name);
}

/* The schema where an unqualified name would be made; NULL: none, which is an error. */
static char *
schema_to_make_in(const char *schema)
{
	List *path = schema == NULL ? fetch_search_path(false) : NIL;

	if (schema != NULL)
		return pstrdup(schema);
	return path == NIL ? NULL : get_namespace_name(linitial_oid(path));
}

static List *
qualified_locks(List *locks, Oid class_id, List *names)
{
	char *schema;
	char *name;

	DeconstructQualifiedName(names, &schema, &name);
	return name_locks(locks, class_id, schema_to_make_in(schema), name);
}

static List *
relation_name_locks(List *locks, const RangeVar *relation)
{
	if (relation->relpersistence == RELPERSISTENCE_TEMP)
		return locks;
	return name_locks(locks, RelationRelationId, schema_to_make_in(relation->schemaname),
					  relation->relname);
}

/* Names that the statement gives to what it makes. */
static List *
made_locks(const DdlJob *job, List *locks)
{
	const Node *stmt = job->stmt;
	Oid class_id = job->handler->capture_class;

	switch (nodeTag(stmt))
	{
		case T_CreateSchemaStmt:
			return schema_locks(locks, ((const CreateSchemaStmt *) stmt)->schemaname);
		case T_ViewStmt:
			locks = relation_name_locks(locks, ((const ViewStmt *) stmt)->view);
			(void) query_relations(((const ViewStmt *) stmt)->query, &locks);
			return locks;
		case T_CreateTableAsStmt:
			/* What its query reads is locked here, since it was analyzed. */
			return relation_name_locks(locks,
									   ((const CreateTableAsStmt *) stmt)->into->rel);
		case T_CompositeTypeStmt:
			return relation_name_locks(locks,
									   ((const CompositeTypeStmt *) stmt)->typevar);
		case T_CreateEnumStmt:
			return qualified_locks(locks, class_id,
								   ((const CreateEnumStmt *) stmt)->typeName);
		case T_CreateRangeStmt:
			return qualified_locks(locks, class_id,
								   ((const CreateRangeStmt *) stmt)->typeName);
		case T_CreateDomainStmt:
			return qualified_locks(locks, class_id,
								   ((const CreateDomainStmt *) stmt)->domainname);
		case T_CreateFunctionStmt:
			return qualified_locks(locks, class_id,
								   ((const CreateFunctionStmt *) stmt)->funcname);
		case T_DefineStmt:
			return qualified_locks(locks, class_id,
								   ((const DefineStmt *) stmt)->defnames);
		case T_CreateRoleStmt:
			return name_locks(locks, class_id, NULL,
							  ((const CreateRoleStmt *) stmt)->role);
		case T_AlterRoleStmt:
			return name_locks(locks, class_id, NULL,
							  ((const AlterRoleStmt *) stmt)->role->rolename);
		default:
			return OidIsValid(class_id) ? name_locks(locks, class_id, NULL, NULL) : locks;
	}
}

/* Roles that a statement names, and changes. */
static List *
role_locks(List *locks, List *roles)
{
	foreach_ptr (Node, role, roles)
	{
		const char *name = IsA(role, AccessPriv) ? ((AccessPriv *) role)->priv_name
												 : ((RoleSpec *) role)->rolename;

		locks = name_locks(locks, AuthIdRelationId, NULL, name);
	}
	return locks;
}

/* Objects that the statement changes, and the names that they get by it. */
static List *
changed_locks(const DdlJob *job, List *locks)
{
	const Node *stmt = job->stmt;

	if (IsA(stmt, GrantRoleStmt))
		return role_locks(
			role_locks(locks, ((const GrantRoleStmt *) stmt)->granted_roles),
			((const GrantRoleStmt *) stmt)->grantee_roles);
	if (IsA(stmt, AlterRoleSetStmt) && ((const AlterRoleSetStmt *) stmt)->role != NULL)
		return role_locks(locks, list_make1(((const AlterRoleSetStmt *) stmt)->role));
	if (IsA(stmt, AlterDefaultPrivilegesStmt))
		return name_locks(locks, AuthIdRelationId, NULL, NULL);
	foreach_ptr (ObjectAddress, object, job->objects)
	{
		ObjectFacts facts = object_facts(object);
		bool is_view = object->classId == RelationRelationId;

		if (is_view && compat_owns_relation(object->objectId, GetUserId()))
			locks = lappend(locks,
							lock_new(object->objectId, name_qualified(object->objectId),
									 AccessExclusiveLock));
		locks = named_locks(locks, object->classId, facts.schema, facts.name);
		if (IsA(stmt, RenameStmt))
			locks = named_locks(locks, object->classId, facts.schema,
								((const RenameStmt *) stmt)->newname);
		else if (IsA(stmt, AlterObjectSchemaStmt))
			locks = named_locks(locks, object->classId,
								((const AlterObjectSchemaStmt *) stmt)->newschema,
								facts.name);
	}
	return locks;
}

/* Tables whose rows are looked at for a domain's new constraint: no writer meanwhile. */
static List *
domain_locks(const DdlJob *job, List *locks)
{
	char subtype = ((const AlterDomainStmt *) job->stmt)->subtype;

	if (subtype != 'C' && subtype != 'V' && subtype != 'O')
		return locks;
	foreach_ptr (ObjectAddress, domain, job->objects)
	{
		if (!compat_owns_type(domain->objectId, GetUserId()))
			continue;
		foreach_ptr (
			char, relid,
			sql_column(
				"WITH RECURSIVE domain (oid) AS (VALUES (%u::pg_catalog.oid) UNION "
				"SELECT t.oid FROM pg_catalog.pg_type t JOIN domain ON "
				"typbasetype = domain.oid WHERE typtype = 'd') "
				"SELECT c.oid FROM pg_catalog.pg_class c JOIN "
				"pg_catalog.pg_namespace n ON n.oid = relnamespace "
				"WHERE c.oid IN (SELECT logicalrelid FROM "
				"pg_catalog.pg_dist_partition JOIN pg_catalog.pg_attribute ON "
				"attrelid = logicalrelid JOIN domain ON atttypid = domain.oid) "
				"ORDER BY nspname, relname",
				domain->objectId))
		{
			Oid table = atooid(relid);
			const DistTable *distributed = dist_table(table);

			if (distributed == NULL || distributed->managed_local)
				continue;
			locks = parent_locks(table, ShareLock, locks);
			locks = lappend(locks, lock_new(table, name_qualified(table), ShareLock));
		}
	}
	return locks;
}

/* ------------------------------------------------------------------------------------
 * Drops
 */

/* The object's owner may drop it, and who owns the schema that it is in. */
static bool
may_drop(const ObjectAddress *object)
{
	ObjectFacts facts = object_facts(object);
	Oid schema =
		facts.schema == NULL ? InvalidOid : get_namespace_oid(facts.schema, true);

	return (OidIsValid(facts.owner) && has_privs_of_role(GetUserId(), facts.owner)) ||
		   (OidIsValid(schema) && compat_owns_schema(schema, GetUserId()));
}

/* Appends an object to the VALUES of the query below. */
static void
append_root(StringInfo roots, Oid class_id, Oid object_id)
{
	appendStringInfo(roots, "%s(%u::pg_catalog.oid, %u::pg_catalog.oid)",
					 roots->len > 0 ? ", " : "", class_id, object_id);
}

static void
add_root(StringInfo roots, Oid class_id, Oid object_id)
{
	ObjectAddress object;

	ObjectAddressSet(object, class_id, object_id);
	if (may_drop(&object))
		append_root(roots, class_id, object_id);
}

/*
 * Tables and views of which something goes with the roots, a foreign key's triggers
 * included, in the order of their names.
 */
static List *
gone_locks(const char *roots, List *locks)
{
	List *parents = NIL; /* those that are in the list */

	foreach_ptr (
		char, relid,
		sql_column("WITH RECURSIVE gone (classid, objid) AS (VALUES %s UNION "
				   "SELECT d.classid, d.objid FROM pg_catalog.pg_depend d JOIN gone "
				   "ON d.refclassid = gone.classid AND d.refobjid = gone.objid "
				   "WHERE d.deptype IN ('n', 'a', 'i', 'P', 'S')), "
				   "relation (oid) AS (SELECT objid FROM gone WHERE classid = %u "
				   "UNION SELECT pg_catalog.unnest(ARRAY[conrelid, confrelid]) FROM "
				   "pg_catalog.pg_constraint c JOIN gone ON objid = c.oid "
				   "WHERE classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass "
				   "UNION SELECT adrelid FROM pg_catalog.pg_attrdef a JOIN gone ON objid "
				   "= a.oid "
				   "WHERE classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass "
				   "UNION SELECT ev_class FROM pg_catalog.pg_rewrite r JOIN gone ON "
				   "objid = r.oid "
				   "WHERE classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass) "
				   "SELECT c.oid FROM relation JOIN pg_catalog.pg_class c USING (oid) "
				   "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
				   "WHERE relkind IN ('v', 'm') OR EXISTS (SELECT FROM "
				   "pg_catalog.pg_dist_partition "
				   "WHERE logicalrelid = c.oid) ORDER BY nspname, relname",
				   roots, RelationRelationId))
	{
		Oid dropped = atooid(relid);
		const DistTable *table = dist_table(dropped);

		if (get_rel_relispartition(dropped) &&
			!list_member_oid(parents, get_partition_parent(dropped, true)))
		{
			parents = lappend_oid(parents, get_partition_parent(dropped, true));
			locks = parent_locks(dropped, AccessExclusiveLock, locks);
		}
		if (table == NULL || !table->managed_local)
			locks = lappend(
				locks, lock_new(dropped, name_qualified(dropped), AccessExclusiveLock));
	}
	return locks;
}

static List *
drop_locks(const DdlJob *job, List *locks)
{
	const DropStmt *stmt = (const DropStmt *) job->stmt;
	StringInfoData roots;

	initStringInfo(&roots);
	if (stmt->removeType == OBJECT_TABLE)
	{
		foreach_ptr (List, names, stmt->objects)
		{
			Oid relid = RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true);

			if (OidIsValid(relid) && dist_table(relid) != NULL)
				add_root(&roots, RelationRelationId, relid);
		}
	}
	foreach_ptr (ObjectAddress, object, job->objects)
		add_root(&roots, object->classId, object->objectId);
	return roots.len == 0 ? locks : gone_locks(roots.data, locks);
}

/* The constraints that a command drops, and other tables may have a part in: the one that
 * it names, or foreign keys from and to the column. */
static List *
dropped_constraints(Oid relid, const AlterTableCmd *command)
{
	AttrNumber column;

	if (command->subtype == AT_DropConstraint)
	{
		Oid constraint = get_relation_constraint_oid(relid, command->name, true);

		return OidIsValid(constraint) ? list_make1(psprintf("%u", constraint)) : NIL;
	}
	if (command->subtype != AT_DropColumn)
		return NIL;
	column = get_attnum(relid, command->name);
	return sql_column("SELECT oid FROM pg_catalog.pg_constraint WHERE contype = 'f' AND "
					  "((conrelid = %u AND %d = ANY (conkey)) OR (confrelid = %u AND %d "
					  "= ANY (confkey)))",
					  relid, column, relid, column);
}

/* The other table of a foreign key loses triggers. */
static List *
alter_locks(const DdlJob *job, List *locks)
{
	const AlterTableStmt *stmt = (const AlterTableStmt *) job->stmt;
	Oid relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	StringInfoData roots;

	if (job->applying || !OidIsValid(relid) || dist_table(relid) == NULL ||
		!compat_owns_relation(relid, GetUserId()))
		return locks;
	initStringInfo(&roots);
	foreach_ptr (AlterTableCmd, command, stmt->cmds)
	{
		foreach_ptr (char, constraint, dropped_constraints(relid, command))
			append_root(&roots, ConstraintRelationId, atooid(constraint));
	}
	return roots.len == 0 ? locks : gone_locks(roots.data, locks);
}

/* ------------------------------------------------------------------------------------
 * All of them
 */

/* By name; the stronger lock of a name first. */
static int
compare_locks(const ListCell *a, const ListCell *b)
{
	const DdlLock *left = lfirst(a);
	const DdlLock *right = lfirst(b);
	int order = strcmp(left->name, right->name);

	return order != 0 ? order : right->mode - left->mode;
}

List *
lock_list_make(const DdlJob *job)
{
	List *locks = job->concerned ? table_locks(job, NIL) : NIL;
	List *objects = NIL;
	List *relations = NIL;

	locks = list_concat(locks, job->locks);
	if (IsA(job->stmt, DropStmt))
		locks = drop_locks(job, locks);
	if (IsA(job->stmt, AlterTableStmt))
		locks = alter_locks(job, locks);
	if (IsA(job->stmt, AlterDomainStmt))
		locks = domain_locks(job, locks);
	if (job->concerned)
	{
		locks = changed_locks(job, locks);
		locks = made_locks(job, locks);
		locks = default_privileges_locks(job, locks);
	}
	foreach_ptr (DdlLock, lock, locks)
	{
		if (OidIsValid(lock->relid))
			relations = lappend(relations, lock);
		else
			objects = lappend(objects, lock);
	}
	list_sort(objects, compare_locks);
	return list_concat(objects, relations);
}
