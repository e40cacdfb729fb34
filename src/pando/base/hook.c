/*
 * hook.c: who takes part in planning and running a statement, and in which order.
 *
 * Each hook has an array of parts by place, ending with PostgreSQL. A place that nobody
 * took is filled with what comes behind it, so that going on is one indirect call.
 */
#include "pando/compat/compat.h"

#include "pando/base/hook.h"

static planner_hook_type planner_parts[PLANNER_PLACES + 1];
static ExecutorStart_hook_type start_parts[START_PLACES + 1];
static ExecutorEnd_hook_type end_parts[END_PLACES + 1];
static ProcessUtility_hook_type utility_parts[UTILITY_PLACES + 1];
static ProcessUtility_hook_type transaction_parts[UTILITY_PLACES + 1];
static set_rel_pathlist_hook_type pathlist_parts[PATHLIST_PLACES + 1];

/* ------------------------------------------------------------------------------------
 * Parts take their places.
 */

void
hook_planner(PlannerPlace place, planner_hook_type part)
{
	planner_parts[place] = part;
}

void
hook_start(StartPlace place, ExecutorStart_hook_type part)
{
	start_parts[place] = part;
}

void
hook_end(EndPlace place, ExecutorEnd_hook_type part)
{
	end_parts[place] = part;
}

void
hook_utility(UtilityPlace place, ProcessUtility_hook_type part)
{
	utility_parts[place] = part;
	if (utility_place_takes_transactions(place))
		transaction_parts[place] = part;
}

void
hook_pathlist(PathlistPlace place, set_rel_pathlist_hook_type part)
{
	pathlist_parts[place] = part;
}

static void
no_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
}

static ProcessUtility_hook_type *
utility_parts_of(const PlannedStmt *pstmt)
{
	return IsA(pstmt->utilityStmt, TransactionStmt) ? transaction_parts : utility_parts;
}

static void
first_utility(PlannedStmt *pstmt, const char *text, bool read_only_tree,
			  ProcessUtilityContext context, ParamListInfo params,
			  QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	utility_parts_of(pstmt)[0](pstmt, text, read_only_tree, context, params, environment,
							   dest, qc);
}

/* Puts the last part into the array. */
#define FILL(parts, last)                                                                \
	do                                                                                   \
	{                                                                                    \
		(parts)[lengthof(parts) - 1] = (last);                                           \
		for (int place = lengthof(parts) - 2; place >= 0; place--)                       \
		{                                                                                \
			if ((parts)[place] == NULL)                                                  \
				(parts)[place] = (parts)[place + 1];                                     \
		}                                                                                \
	} while (0)

/* And makes the first one the server's hook. */
#define TAKE(hook, parts, last)                                                          \
	do                                                                                   \
	{                                                                                    \
		FILL(parts, last);                                                               \
		(hook) = (parts)[0];                                                             \
	} while (0)

bool
hook_is_taken(void)
{
	return planner_hook != NULL || ExecutorStart_hook != NULL ||
		   ExecutorEnd_hook != NULL || ProcessUtility_hook != NULL ||
		   set_rel_pathlist_hook != NULL;
}

void
hook_take_all(void)
{
	TAKE(planner_hook, planner_parts, standard_planner);
	TAKE(ExecutorStart_hook, start_parts, standard_ExecutorStart);
	TAKE(ExecutorEnd_hook, end_parts, standard_ExecutorEnd);
	FILL(utility_parts, standard_ProcessUtility);
	FILL(transaction_parts, standard_ProcessUtility);
	ProcessUtility_hook = first_utility;
	TAKE(set_rel_pathlist_hook, pathlist_parts, no_pathlist);
}

/* ------------------------------------------------------------------------------------
 * And go on.
 */

PlannedStmt *
hook_planner_next(PlannerPlace place, Query *query, const char *source,
				  int cursor_options, ParamListInfo params)
{
	return planner_parts[place + 1](query, source, cursor_options, params);
}

void
hook_start_next(StartPlace place, QueryDesc *query, int eflags)
{
	start_parts[place + 1](query, eflags);
}

void
hook_end_next(EndPlace place, QueryDesc *query)
{
	end_parts[place + 1](query);
}

void
hook_utility_next(UtilityPlace place, PlannedStmt *pstmt, const char *text,
				  bool read_only_tree, ProcessUtilityContext context,
				  ParamListInfo params, QueryEnvironment *environment, DestReceiver *dest,
				  QueryCompletion *qc)
{
	utility_parts_of(pstmt)[place + 1](pstmt, text, read_only_tree, context, params,
									   environment, dest, qc);
}

void
hook_pathlist_next(PathlistPlace place, PlannerInfo *root, RelOptInfo *rel, Index rti,
				   RangeTblEntry *rte)
{
	pathlist_parts[place + 1](root, rel, rti, rte);
}
