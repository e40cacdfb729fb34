/*
 * object_names.h: names of objects (regclass and the like), which are Oids inside.
 *
 * Internal to the planner module. Oids are each node's own: what casts one to the other,
 * sorts or compares them is done here, or by the names.
 */
#ifndef PANDO_PLANNER_OBJECT_NAMES_H
#define PANDO_PLANNER_OBJECT_NAMES_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

/*
 * Is it a cast from an object's Oid, or text, to its name (regclass and the like), or
 * from the name to the Oid, of a value or an array? Oids are each node's own.
 */
extern bool cast_looks_up_object(const Node *node);

/*
 * Is it `name = name`, <>, IS DISTINCT FROM or = ANY of names of objects of one kind?
 * Nodes agree on that, though they compare Oids: each argument is a cast to Oids, that
 * has to be one for all names or none.
 */
extern bool compares_names(const Node *node);

/* The arguments of such a comparison, to look at or to change. */
extern List *compared_names(Node *node);

/* What such an argument is a cast of, to look at or to change. */
extern Expr **compared_name(Node *argument);

/* Names of objects among the columns? Other nodes may not have what is here. */
extern bool has_name_columns(List *target_list);

/* Do SortGroupClauses, or does a level, sort by names of objects? By Oids, it is each
 * node's own order. */
extern bool clauses_order_names(List *clauses, List *target_list);
extern bool level_orders_names(const Query *query);

#endif
