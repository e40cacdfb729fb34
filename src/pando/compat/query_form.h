/*
 * query_form.h: a Query in the form of PostgreSQL 15, in which parts of it can move.
 */
#ifndef PANDO_COMPAT_QUERY_FORM_H
#define PANDO_COMPAT_QUERY_FORM_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Since PostgreSQL 16 a Query depends on where its parts are: entries number the rights
 * in its list, and a Var names the outer joins around its relation that can make it NULL.
 * query_form_enter() gives all levels of a Query the older form, in place: entries hold
 * their rights (rights.h), Vars name no joins. query_form_leave() makes of it what
 * PostgreSQL's planner is to get, whatever has been moved meanwhile. Both do nothing to a
 * Query that has the form already.
 *
 * Since PostgreSQL 17 the condition of MERGE has a field of its own instead of being that
 * of the join tree: merge_form_enter() and merge_form_leave() are about that alone, in
 * a level and its WITH queries.
 */
#if PG_VERSION_NUM < 170000
#define merge_form_enter(query) ((void) 0)
#define merge_form_leave(query) ((void) 0)
#else
extern void merge_form_enter(Query *query);
extern void merge_form_leave(Query *query);
#endif
#if PG_VERSION_NUM < 160000
#define query_form_enter(query) ((void) 0)
#define query_form_leave(query) ((void) 0)
#else
extern void query_form_enter(Query *query);
extern void query_form_leave(Query *query);
#endif

#endif
