/*
 * hazard.h: what an expression holds that may not be evaluated on another node.
 */
#ifndef PANDO_PLANNER_HAZARD_H
#define PANDO_PLANNER_HAZARD_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * Why the expression must be evaluated by the client's backend, in words for a user; NULL
 * when nodes may do it. Doesn't look into the queries of sublinks.
 */
extern const char *expression_hazard(Node *node);

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

/* Is a level's order one of names of objects? Sorted by Oids, it is each node's own. */
extern bool level_orders_names(const Query *query);

/* Above zero: within a WITH query to which SEARCH DEPTH FIRST or CYCLE added a path. */
extern int hazard_in_paths;

/*
 * Anonymous rows among the columns? They would lose their field names on the way, and an
 * array of them can't be read at all.
 */
extern bool has_record_columns(List *target_list, bool junk_too);

/* Volatile functions of any kind, those that may run anywhere included; no sublinks'
 * queries. */
extern bool expression_varies(Node *node);

/* The same for a whole query tree, with sublinks and subqueries. */
extern bool query_varies(Node *node);

#endif
