/*
 * join_tree.h: inner joins taken apart.
 *
 * Internal to the planner module. Queries have no join columns (see flatten.h).
 */
#ifndef PANDO_PLANNER_JOIN_TREE_H
#define PANDO_PLANNER_JOIN_TREE_H

#include "pando/compat/compat.h"
#include "nodes/nodes.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

/* Nested AND lists as one; a copy of the list, not of the expressions. */
extern List *quals_flat(Node *quals);

/* AND-ed qualifications as one expression or NULL. */
extern Node *quals_as_node(List *quals);

/* The type of an outer join, given what the qualifications above it refuse. */
extern JoinType join_type_reduced(JoinExpr *join, List *quals);

/*
 * Adds to items the relations and outer joins that a FROM item joins by inner joins, and
 * to quals all AND-ed qualifications that hold for the rows.
 */
extern void join_tree_flatten(Node *node, List **items, List **quals);

extern bool join_tree_has_outer(Node *tree);

/*
 * New range table entries for all joins of the level, whose FROM items are no FromExprs,
 * after their sides have changed. Nothing may refer to the joins' columns.
 */
extern void join_tree_renew(Query *query);

#endif
