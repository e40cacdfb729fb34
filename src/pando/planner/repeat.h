/*
 * repeat.h: statements that come again with other constants are not planned again.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_REPEAT_H
#define PANDO_PLANNER_REPEAT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "pando/planner/normal_form.h"

/* In the place of a shard's index: the statement is planned as a fragment. */
#define REPEAT_FRAGMENT (-1)

typedef struct Repeat
{
	NormalForm form;
	int shard;
	uint64 hash;	 /* of the form and the shard */
	Query *original; /* with parameters for its constants */
	Query *query;	 /* what is to be planned; NULL: nothing, it keeps its constants */
} Repeat;

/*
 * The plan of a statement that was seen before with other constants, made for one shard
 * of its only table, which is here, or REPEAT_FRAGMENT; NULL if there is none. Then
 * repeat->query may be set: a copy of it with parameters for constants. It is
 * to be planned and handed to repeat_planned(); after an error the query is lost.
 */
extern PlannedStmt *repeat_plan(Query *query, int cursor_options, int shard,
								Repeat *repeat);

/*
 * repeat->query was planned (stmt NULL: it can't be): keeps the plan and returns that of
 * the statement. NULL, with the constants back in the original, when the plan is not of a
 * kind that can be kept.
 */
extern PlannedStmt *repeat_planned(Repeat *repeat, PlannedStmt *stmt);

#endif
