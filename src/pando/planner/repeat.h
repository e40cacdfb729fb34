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

typedef struct Repeat
{
	NormalForm form;
	Query *original; /* with parameters for its constants */
	Query *query;	 /* what is to be planned; NULL: nothing, it keeps its constants */
} Repeat;

/*
 * The plan of a statement that was seen before with other constants; NULL if there is
 * none. Then repeat->query may be set: a copy of it with parameters for constants. It is
 * to be planned and handed to repeat_planned(); after an error the query is lost.
 */
extern PlannedStmt *repeat_plan(Query *query, Repeat *repeat);

/*
 * repeat->query was planned: keeps the plan and returns that of the statement. NULL, with
 * the constants back in the original, when the plan is not of a kind that can be kept.
 */
extern PlannedStmt *repeat_planned(Repeat *repeat, PlannedStmt *stmt);

#endif
