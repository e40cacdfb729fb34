/*
 * hazard.h: what an expression holds that may not be evaluated on another node.
 */
#ifndef PANDO_PLANNER_HAZARD_H
#define PANDO_PLANNER_HAZARD_H

#include "pando/compat/compat.h"
#include "nodes/primnodes.h"

/*
 * Why the expression must be evaluated by the client's backend, in words for a user; NULL
 * when nodes may do it. Doesn't look into the queries of sublinks.
 */
extern const char *expression_hazard(Node *node);

/*
 * Is it a cast from an object's Oid, or text, to its name (regclass and the like), or one
 * that somebody wrote from the name to the Oid? Oids are each node's own.
 */
extern bool cast_looks_up_object(const Node *node);

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

/* Functions that may change tables, anywhere in a query tree: users' volatile ones. */
extern bool query_may_write(Node *node);

#endif
