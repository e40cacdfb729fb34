/*
 * rights.h: which rights a statement needs on a relation, and whose.
 *
 * They are fields of the range table entry in PostgreSQL 15. Since 16 a Query has a list
 * of them, and an entry the number in it: an entry that moves to another Query would lose
 * them. So between query_form_enter() and query_form_leave() (query_form.h) an entry
 * holds its own here as well, where a relation has nothing else; a copy of it copies
 * them.
 */
#ifndef PANDO_COMPAT_RIGHTS_H
#define PANDO_COMPAT_RIGHTS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

#if PG_VERSION_NUM < 160000

typedef RangeTblEntry RelationRights;

/* What an entry holds, to read and to change; changing them changes no copy's. */
#define entry_rights(rte) (rte)
#define entry_rights_to_set(rte) (rte)

/* Of a copy of the structure alone: what it holds is its own from now on. */
#define entry_own_rights(rte) ((void) 0)

/* Those of an entry of a Query as PostgreSQL made it, and of a plan's. */
#define query_rights(query, rte) (rte)
#define plan_rights(stmt, rte) (rte)

/* Those that a ParseState has for its one relation, and a check of them. */
#define parse_rights(pstate, item) ((item)->p_rte)
#define compat_check_rights(pstate) ExecCheckRTPerms((pstate)->p_rtable, true)
#define compat_check_plan_rights(stmt) ExecCheckRTPerms((stmt)->rtable, true)
#define compat_init_range_table(estate, pstate)                                          \
	ExecInitRangeTable(estate, (pstate)->p_rtable)

/* Generated columns that an UPDATE changes; the executor finds them since PostgreSQL 16.
 */
#define entry_generated(rte) ((rte)->extraUpdatedCols)
#define entry_set_generated(rte, columns) ((rte)->extraUpdatedCols = (columns))

/* Appends entries that hold their rights to a plan's. */
#define plan_add_entries(stmt, entries)                                                  \
	((stmt)->rtable = list_concat((stmt)->rtable, entries))

/* An entry of another plan, without rights. */
#define entry_drop_rights(rte) ((rte)->requiredPerms = 0)

/* A plan's that are not to be checked. */
#define rights_waive(rights) ((rights)->requiredPerms = 0)

/* A plan's entry has become one of another relation. */
#define plan_rights_follow(stmt, rte) ((void) 0)

#else

typedef RTEPermissionInfo RelationRights;
#define T_RelationRights T_RTEPermissionInfo

/* The field of RangeTblEntry, one of joins. */
#define ENTRY_RIGHTS_FIELD joinleftcols

extern const RelationRights no_rights;

#define entry_has_rights(rte)                                                            \
	((rte)->rtekind != RTE_JOIN && (rte)->ENTRY_RIGHTS_FIELD != NIL)
#define entry_rights(rte)                                                                \
	(entry_has_rights(rte) ? linitial_node(RelationRights, (rte)->ENTRY_RIGHTS_FIELD)    \
						   : unconstify(RelationRights *, &no_rights))
#define entry_own_rights(rte)                                                            \
	((rte)->ENTRY_RIGHTS_FIELD = copyObject((rte)->ENTRY_RIGHTS_FIELD))
extern RelationRights *entry_rights_to_set(RangeTblEntry *rte);

#define listed_rights(list, rte)                                                         \
	((rte)->perminfoindex != 0                                                           \
		 ? list_nth_node(RelationRights, list, (rte)->perminfoindex - 1)                 \
		 : unconstify(RelationRights *, &no_rights))
#define query_rights(query, rte) listed_rights((query)->rteperminfos, rte)
#define plan_rights(stmt, rte) listed_rights((stmt)->permInfos, rte)

#define parse_rights(pstate, item) ((item)->p_perminfo)
#define compat_check_rights(pstate)                                                      \
	ExecCheckPermissions((pstate)->p_rtable, (pstate)->p_rteperminfos, true)
#define compat_check_plan_rights(stmt)                                                   \
	ExecCheckPermissions((stmt)->rtable, (stmt)->permInfos, true)
#define compat_init_range_table(estate, pstate)                                          \
	ExecInitRangeTable(estate, (pstate)->p_rtable, (pstate)->p_rteperminfos)

#define entry_generated(rte) ((const Bitmapset *) NULL)
#define entry_set_generated(rte, columns) ((void) (columns))

/* An executor that checks any at all wants some, of somebody who has them. */
extern void rights_waive(RelationRights *rights);

extern void plan_add_entries(PlannedStmt *stmt, List *entries);

#define entry_drop_rights(rte) ((rte)->perminfoindex = 0)
#define plan_rights_follow(stmt, rte)                                                    \
	((rte)->perminfoindex != 0 ? (void) (plan_rights(stmt, rte)->relid = (rte)->relid)   \
							   : (void) 0)

#endif

/* get_row_security_policies() of the relation that the query changes. */
#if PG_VERSION_NUM < 160000
#define compat_target_policies(query, quals, checks, secured, sublinks)                  \
	get_row_security_policies(query, rt_fetch((query)->resultRelation, (query)->rtable), \
							  (query)->resultRelation, quals, checks, secured, sublinks)
#else
extern void compat_target_policies(const Query *query, List **quals, List **checks,
								   bool *secured, bool *sublinks);
#endif

/* Whose rights: a view's owner has his own used, else the current role. */
#define entry_role(rte)                                                                  \
	(OidIsValid(entry_rights(rte)->checkAsUser) ? entry_rights(rte)->checkAsUser         \
												: GetUserId())

/* May rights be asked for it, on a relation or a view? */
#define entry_is_checked(rte)                                                            \
	((rte)->rtekind == RTE_RELATION ||                                                   \
	 ((rte)->rtekind == RTE_SUBQUERY && OidIsValid((rte)->relid)))

#endif
