/*
 * correlated_aggregate.h: a correlated aggregate as a join.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_CORRELATED_AGGREGATE_H
#define PANDO_PLANNER_CORRELATED_AGGREGATE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* What a correlated aggregate is joined with. */
typedef enum Joined
{
	JOINED_ALL,	   /* the rows grouped by all values */
	JOINED_VALUES, /* by the values that can occur */
	JOINED_LOOKUP  /* for each value of one column, those with that value, LATERAL */
} Joined;

/*
 * Adds the subquery to the level's FROM; what stands in the place of its qualification,
 * which has the sublink in it, or NIL: it can't be a join.
 */
extern List *join_aggregate(Query *level, Node *qual, SubLink *sublink, Joined joined);

#endif
