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

/* Above zero: within a WITH query to which SEARCH DEPTH FIRST or CYCLE added a path. */
extern int hazard_in_paths;

#endif
