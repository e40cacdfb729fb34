/*
 * fragment_path.h: fragments as FROM items of a residual query.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_FRAGMENT_PATH_H
#define PANDO_PLANNER_FRAGMENT_PATH_H

#include "pando/compat/compat.h"
#include "nodes/plannodes.h"
#include "pando/plan/fragment.h"

/* Takes part in making paths; once, when the library is loaded. */
extern void fragment_path_init(void);

/*
 * Fragments made by fragment_rte() belong to the scope entered last, and live as long as
 * the memory context they were made in. Returns the outer scope for the leave; call leave
 * after an error as well.
 */
extern List *fragment_scope_enter(void);
extern void fragment_scope_leave(List *outer);

/*
 * A FROM item that stands for the fragment's rows, columns named and typed as the
 * fragment's: the residual query uses it like a subquery. It is an RTE_FUNCTION that the
 * planner's set_rel_pathlist_hook turns into a CustomPath with the fragment's row
 * estimate.
 */
extern RangeTblEntry *fragment_rte(Fragment *fragment);

/*
 * Gives the fragment of such an entry arguments: expressions of the level that the entry
 * is in. They are the values of the fragment's params that are PARAM_EXEC Params.
 */
extern void fragment_rte_give(RangeTblEntry *rte, List *arguments);

/* The fragments of the current scope, in order of their numbers. */
extern List *fragment_scope(void);

/* The fragment that a call of pando.fragment() stands for; NULL: another call. */
extern Fragment *fragment_of_call(Node *call);

/* After planning: gives references to the scan's whole row their value. */
extern void fragment_scan_finish(CustomScan *scan);

#endif
