/*
 * compat.h: the one place that knows which PostgreSQL version is compiled against.
 *
 * Code elsewhere is written against the newest API; what an older server lacks is
 * wrapped here. PG_VERSION_NUM occurs in this module only.
 */
#ifndef PANDO_COMPAT_H
#define PANDO_COMPAT_H

#include "postgres.h"
#include "pg_config.h"

#if PG_VERSION_NUM < 150000
#error "Pando needs PostgreSQL 15 or newer"
#endif

#include "nodes/pg_list.h"

/* foreach_ptr is PostgreSQL 17's: iterate over a list of pointers of one type. */
#ifndef foreach_ptr
#define foreach_ptr(type, var, lst)                                                      \
	for (type *var = NULL, *var##_once = (type *) 1; var##_once != NULL;                 \
		 var##_once = NULL)                                                              \
		for (ForEachState var##_at = {(lst), 0};                                         \
			 var##_at.l != NIL && var##_at.i < var##_at.l->length &&                     \
			 ((var = (type *) lfirst(&var##_at.l->elements[var##_at.i])), true);         \
			 var##_at.i++)
#endif

/* One function asks for the owner of any object since PostgreSQL 16; include utils/acl.h.
 */
#if PG_VERSION_NUM < 160000
#define compat_owns_relation(relid, role) pg_class_ownercheck(relid, role)
#define compat_owns_schema(schemaid, role) pg_namespace_ownercheck(schemaid, role)
#define compat_owns_database(id, role) pg_database_ownercheck(id, role)
#else
#define compat_owns_database(id, role) object_ownercheck(DatabaseRelationId, id, role)
#define compat_owns_relation(relid, role)                                                \
	object_ownercheck(RelationRelationId, relid, role)
#define compat_owns_schema(schemaid, role)                                               \
	object_ownercheck(NamespaceRelationId, schemaid, role)
#endif

/* May the role VACUUM and ANALYZE the table? */
#if PG_VERSION_NUM < 170000
#define compat_may_vacuum(relid, role)                                                   \
	(compat_owns_relation(relid, role) || compat_owns_database(MyDatabaseId, role))
#else
#define compat_may_vacuum(relid, role)                                                   \
	(pg_class_aclcheck(relid, role, ACL_MAINTAIN) == ACLCHECK_OK ||                      \
	 compat_owns_database(MyDatabaseId, role))
#endif

/* foreach_int and foreach_oid are PostgreSQL 17's as well. */
#ifndef foreach_oid
#define foreach_scalar_(type, var, lst, get)                                             \
	for (type var = 0, var##_once = 1; var##_once != 0; var##_once = 0)                  \
		for (ForEachState var##_at = {(lst), 0};                                         \
			 var##_at.l != NIL && var##_at.i < var##_at.l->length &&                     \
			 ((var = get(&var##_at.l->elements[var##_at.i])), true);                     \
			 var##_at.i++)
#define foreach_oid(var, lst) foreach_scalar_(Oid, var, lst, lfirst_oid)
#define foreach_int(var, lst) foreach_scalar_(int, var, lst, lfirst_int)
#endif

/* All settings and their number; include utils/guc_tables.h. */
#if PG_VERSION_NUM < 160000
#define compat_guc_variables(count)                                                      \
	(*(count) = GetNumConfigOptions(), get_guc_variables())
#else
#define compat_guc_variables(count) get_guc_variables(count)
#endif

/*
 * Minor releases of 2026 check that the row which ON CONFLICT DO UPDATE through a view
 * meets is one that the view shows, by a kind of check after those that the first
 * releases know. Include nodes/parsenodes.h.
 */
#define compat_is_view_conflict_check(kind)                                              \
	((int) (kind) > (int) WCO_RLS_MERGE_DELETE_CHECK)

#endif
