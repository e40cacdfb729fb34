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
	for (type *var = NULL, *var##__outerloop = (type *) 1; var##__outerloop != NULL;     \
		 var##__outerloop = NULL)                                                        \
		for (ForEachState var##__state = {(lst), 0};                                     \
			 var##__state.l != NIL && var##__state.i < var##__state.l->length &&         \
			 ((var = (type *) lfirst(&var##__state.l->elements[var##__state.i])), true); \
			 var##__state.i++)
#endif

/*
 * One function asks for the owner of any object since PostgreSQL 16, one for rights on
 * it; include utils/acl.h and the catalog's header.
 */
#if PG_VERSION_NUM < 160000
#define compat_owns_relation(relid, role) pg_class_ownercheck(relid, role)
#define compat_owns_schema(schemaid, role) pg_namespace_ownercheck(schemaid, role)
#define compat_owns_database(id, role) pg_database_ownercheck(id, role)
#define compat_owns_type(id, role) pg_type_ownercheck(id, role)
#define compat_owns_function(id, role) pg_proc_ownercheck(id, role)
#define compat_execute_acl(id, role) pg_proc_aclcheck(id, role, ACL_EXECUTE)
#else
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#define compat_owns_relation(relid, role)                                                \
	object_ownercheck(RelationRelationId, relid, role)
#define compat_owns_schema(schemaid, role)                                               \
	object_ownercheck(NamespaceRelationId, schemaid, role)
#define compat_owns_database(id, role) object_ownercheck(DatabaseRelationId, id, role)
#define compat_owns_type(id, role) object_ownercheck(TypeRelationId, id, role)
#define compat_owns_function(id, role) object_ownercheck(ProcedureRelationId, id, role)
#define compat_execute_acl(id, role)                                                     \
	object_aclcheck(ProcedureRelationId, id, role, ACL_EXECUTE)
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
	for (type var = 0, var##__outerloop = 1; var##__outerloop != 0;                      \
		 var##__outerloop = 0)                                                           \
		for (ForEachState var##__state = {(lst), 0};                                     \
			 var##__state.l != NIL && var##__state.i < var##__state.l->length &&         \
			 ((var = get(&var##__state.l->elements[var##__state.i])), true);             \
			 var##__state.i++)
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

/*
 * Parameters that functions have since PostgreSQL 16 or 17, and that we don't need;
 * include the function's header.
 */
#if PG_VERSION_NUM < 160000
#define compat_flatten_join_alias_vars(query, node) flatten_join_alias_vars(query, node)
#define compat_relids_in_jointree(node, joins) get_relids_in_jointree(node, joins)
#define compat_attrmap_by_name(from, to) build_attrmap_by_name(from, to)
#define compat_attrmap_by_name_if_req(from, to) build_attrmap_by_name_if_req(from, to)
#define compat_join_equalities(root, all, outer, inner)                                  \
	generate_join_implied_equalities(root, all, outer, inner)
#define compat_qualified_name(text) stringToQualifiedNameList(text)
#else
#define compat_flatten_join_alias_vars(query, node)                                      \
	flatten_join_alias_vars(NULL, query, node)
#define compat_relids_in_jointree(node, joins) get_relids_in_jointree(node, joins, joins)
#define compat_attrmap_by_name(from, to) build_attrmap_by_name(from, to, false)
#define compat_attrmap_by_name_if_req(from, to)                                          \
	build_attrmap_by_name_if_req(from, to, false)
#define compat_join_equalities(root, all, outer, inner)                                  \
	generate_join_implied_equalities(root, all, outer, inner, NULL)
#define compat_qualified_name(text) stringToQualifiedNameList(text, NULL)
#endif
#if PG_VERSION_NUM < 170000
#define compat_lock_is_held(tag, mode) LockHeldByMe(tag, mode)
#define compat_reindex(relid, flags, params) reindex_relation(relid, flags, params)
#define compat_subquery_planner(glob, query) subquery_planner(glob, query, NULL, false, 0)
#define compat_wait_set(context, size) CreateWaitEventSet(context, size)
#else
#define compat_lock_is_held(tag, mode) LockHeldByMe(tag, mode, false)
#define compat_reindex(relid, flags, params) reindex_relation(NULL, relid, flags, params)
#define compat_subquery_planner(glob, query)                                             \
	subquery_planner(glob, query, NULL, false, 0, NULL)
#define compat_wait_set(context, size) CreateWaitEventSet(NULL, size)
#endif

/* A relation's file was its filenode until PostgreSQL 15; include utils/relcache.h,
 * rel.h. */
#if PG_VERSION_NUM < 160000
#define compat_new_file(relation)                                                        \
	RelationSetNewRelfilenode(relation, (relation)->rd_rel->relpersistence)
#define compat_new_file_subid(relation) ((relation)->rd_newRelfilenodeSubid)
#else
#define compat_new_file(relation)                                                        \
	RelationSetNewRelfilenumber(relation, (relation)->rd_rel->relpersistence)
#define compat_new_file_subid(relation) ((relation)->rd_newRelfilelocatorSubid)
#endif

/*
 * This backend's number, or that of another one's PGPROC: from 1 to MaxBackends, or
 * COMPAT_NO_BACKEND. A signal to one. The place of its PGPROC. Its transaction's local
 * number. Include miscadmin.h, and storage/proc.h for what a PGPROC tells.
 */
#define COMPAT_NO_BACKEND (-1)
#if PG_VERSION_NUM < 170000
#include "storage/backendid.h"
#define compat_my_backend() MyBackendId
#define compat_backend_of(proc) ((proc)->backendId)
#define compat_send_signal(pid, reason, backend) SendProcSignal(pid, reason, backend)
#define compat_my_process() (MyProc->pgprocno)
#define compat_local_xid() (MyProc->lxid)
#else
#include "storage/procnumber.h"
#define compat_backend_of_number(number)                                                 \
	((number) >= 0 && (number) < MaxBackends ? (number) + 1 : COMPAT_NO_BACKEND)
#define compat_my_backend() compat_backend_of_number(MyProcNumber)
#define compat_backend_of(proc) compat_backend_of_number(GetNumberFromPGProc(proc))
#define compat_send_signal(pid, reason, backend) SendProcSignal(pid, reason, (backend) -1)
#define compat_my_process() MyProcNumber
#define compat_local_xid() (MyProc->vxid.lxid)
#endif

/* Are bytes of the client here that were not read yet? Include libpq/libpq.h. */
#if PG_VERSION_NUM >= 170000
#define pq_buffer_has_data() (pq_buffer_remaining_data() > 0)
#endif

/* How many command tags there are; include tcop/cmdtag.h. */
#define PG_CMDTAG(tag, name, evtrgok, rwrok, rowcnt) +1
enum
{
	COMPAT_COMMAND_TAGS = 0
#include "tcop/cmdtaglist.h"
};
#undef PG_CMDTAG

/* The search path as it was, since PostgreSQL 17; include catalog/namespace.h. */
#if PG_VERSION_NUM < 170000
#define SearchPathMatcher OverrideSearchPath
#define GetSearchPathMatcher(context) GetOverrideSearchPath(context)
#define SearchPathMatchesCurrentEnvironment(path) OverrideSearchPathMatchesCurrent(path)
#endif

/* random() without arguments, which is no longer alone since PostgreSQL 17; include
 * utils/fmgroids.h. */
#if PG_VERSION_NUM < 170000
#define COMPAT_F_RANDOM F_RANDOM
#else
#define COMPAT_F_RANDOM F_RANDOM_
#endif

#endif
