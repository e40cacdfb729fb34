/*
 * repeat.h: statements that come again with other constants are not planned again.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_REPEAT_H
#define PANDO_PLANNER_REPEAT_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "pando/plan/fragment.h"
#include "pando/planner/local/normal_form.h"
#include "pando/planner/local/plan_store.h"

/* Where the one shard group is that the statement needs. */
typedef enum RepeatShard
{
	REPEAT_UNKNOWN, /* or it needs several */
	REPEAT_HERE,	/* its only copy */
	REPEAT_ELSEWHERE
} RepeatShard;

typedef struct Repeat
{
	NormalForm form;
	RepeatShard shard;
	uint64 hash;	 /* of the form and `shard` */
	Query *original; /* with parameters for its constants */
	Query *query;	 /* what is to be planned; NULL: nothing, it keeps its constants */
	int first;		 /* number of its first constant's parameter */
} Repeat;

/*
 * The plan of a statement that was seen before with other constants; NULL if there is
 * none. Then repeat->query may be set: a copy of it with parameters for constants. It is
 * to be planned as a fragment and handed to repeat_planned(); after an error the query is
 * lost.
 */
extern PlannedStmt *repeat_plan(Query *query, int cursor_options, RepeatShard shard,
								Repeat *repeat);

/*
 * repeat->query was planned (stmt NULL: it can't be): keeps the plan and returns that of
 * the statement. NULL, with the constants back in the original, when the plan is not of a
 * kind that can be kept.
 */
extern PlannedStmt *repeat_planned(Repeat *repeat, PlannedStmt *stmt);

/* The client's parameters, and after them the statement's constants. */
extern ParamListInfo repeat_params(const FragmentConstants *constants,
								   ParamListInfo params);

/* The kept plan that the statement's fragment, by its id, is a copy of; NULL: it went. */
extern StoredPlan *repeat_kept(const FragmentConstants *constants, uint64 fragment);

#endif
