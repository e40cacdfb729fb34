/*
 * actions_elsewhere.h: changes of a shard's rows whose foreign keys' actions are done
 * elsewhere.
 */
#ifndef PANDO_PLANNER_FRAGMENT_ACTIONS_ELSEWHERE_H
#define PANDO_PLANNER_FRAGMENT_ACTIONS_ELSEWHERE_H

#include "pando/compat/compat.h"

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

typedef struct ActionsElsewhere
{
	bool acts;	/* they are done where the client is */
	bool moves; /* the row goes to another shard */
	bool waits; /* keys of the table to itself are checked later */
} ActionsElsewhere;

/* What is said in the query; takes the mark out of it. */
extern ActionsElsewhere actions_elsewhere_take(Query *query);

/* What PostgreSQL planned of such a query leaves them out. */
extern void actions_elsewhere_plan(PlannedStmt *stmt, ActionsElsewhere taken);

#endif
