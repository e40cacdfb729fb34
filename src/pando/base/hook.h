/*
 * hook.h: who takes part in planning and running a statement, and in which order.
 *
 * PostgreSQL has one pointer for each hook. The library takes those of which several
 * modules want a part once, and gives each part its place: below, outermost first. A part
 * has PostgreSQL's signature for the hook; it calls the *_next() of its own place where
 * PostgreSQL's own doing, and the parts behind it, are to come. Behind the last part is
 * PostgreSQL: libraries that are loaded later, those that audit and count, are asked
 * first and see each statement as the client sent it, whoever carries it out.
 */
#ifndef PANDO_BASE_HOOK_H
#define PANDO_BASE_HOOK_H

#include "pando/compat/compat.h"
#include "executor/executor.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "tcop/utility.h"

/* planner_hook */
typedef enum PlannerPlace
{
	PLANNER_SWITCH,		/* moves that wait come before what is planned */
	PLANNER_VISIBILITY, /* hides shards from who lists relations */
	PLANNER_EXPLAIN,	/* measures for another node's EXPLAIN */
	PLANNER_STATEMENT,	/* distributed tables */
	PLANNER_PLACES
} PlannerPlace;

/* ExecutorStart_hook */
typedef enum StartPlace
{
	START_SWITCH,  /* moves that wait come before the statement */
	START_EXPLAIN, /* instruments for another node's EXPLAIN */
	START_REFUSE,  /* a function that changes what a change is being computed of */
	START_NOTE,	   /* tables that functions change while a statement reads them */
	START_STEPS,   /* names of what steps keep */
	START_INSTEAD, /* a kept plan takes the place of the statement's */
	START_SETTLED, /* a plan that no value changes counts for all */
	START_COUNT,   /* statements and tenants */
	START_PLACE,   /* shards that a call must keep to */
	START_NESTING, /* depth of statements; snapshots; transactions in doubt */
	START_ARRIVED, /* shards that came after the transaction's snapshot */
	START_KEPT,	   /* a kept execution instead of PostgreSQL's start */
	START_PLACES
} StartPlace;

/* ExecutorEnd_hook */
typedef enum EndPlace
{
	END_COUNT,	 /* time of tenants */
	END_EXPLAIN, /* takes the plan for another node's EXPLAIN */
	END_HELD,	 /* rows that wait for triggers are found */
	END_KEPT,	 /* puts an execution to rest instead */
	END_PLACES
} EndPlace;

/* ProcessUtility_hook */
typedef enum UtilityPlace
{
	UTILITY_SWITCH,		/* moves that wait come before the statement */
	UTILITY_USE,		/* tables of statements that run around it are in use */
	UTILITY_HOLD,		/* a database that is to be free of our workers */
	UTILITY_NEW_TABLE,	/* what becomes of a table that was made */
	UTILITY_SCHEMA,		/* distributed schemas */
	UTILITY_PARTITIONS, /* new partitions of distributed tables follow them */
	UTILITY_DDL,		/* schema changes */
	UTILITY_COPY,		/* COPY of tables with shards */
	UTILITY_RECEIVE,	/* COPY of rows to a shard that is to be */
	UTILITY_EXPLAIN,	/* notes EXPLAIN's options */
	UTILITY_CALL,		/* procedures that run where their rows are */
	UTILITY_HELD,		/* rows that wait for triggers are found */
	UTILITY_NESTING,	/* depth of statements */
	UTILITY_PLACES
} UtilityPlace;

/* BEGIN, COMMIT and their kind come with every transaction, and go by these alone. */
static inline bool
utility_place_takes_transactions(UtilityPlace place)
{
	return place == UTILITY_SWITCH || place == UTILITY_CALL || place == UTILITY_HELD ||
		   place == UTILITY_NESTING;
}

/* set_rel_pathlist_hook */
typedef enum PathlistPlace
{
	PATHLIST_UNION_SIZE,   /* shards as one table are estimated as one */
	PATHLIST_SHARD_CHOICE, /* lookups in them run one child */
	PATHLIST_FRAGMENT,	   /* fragments, and results */
	PATHLIST_PLACES
} PathlistPlace;

/* Gives a part its place; called from _PG_init only. */
extern void hook_planner(PlannerPlace place, planner_hook_type part);
extern void hook_start(StartPlace place, ExecutorStart_hook_type part);
extern void hook_end(EndPlace place, ExecutorEnd_hook_type part);
extern void hook_utility(UtilityPlace place, ProcessUtility_hook_type part);
extern void hook_pathlist(PathlistPlace place, set_rel_pathlist_hook_type part);

/* Was a library loaded earlier that has one of them? */
extern bool hook_is_taken(void);

/* Takes PostgreSQL's hooks, once all parts have their places. */
extern void hook_take_all(void);

/* What comes behind a place. */
extern PlannedStmt *hook_planner_next(PlannerPlace place, Query *query,
									  const char *source, int cursor_options,
									  ParamListInfo params);
extern void hook_start_next(StartPlace place, QueryDesc *query, int eflags);
extern void hook_end_next(EndPlace place, QueryDesc *query);
extern void hook_utility_next(UtilityPlace place, PlannedStmt *pstmt, const char *text,
							  bool read_only_tree, ProcessUtilityContext context,
							  ParamListInfo params, QueryEnvironment *environment,
							  DestReceiver *dest, QueryCompletion *qc);
extern void hook_pathlist_next(PathlistPlace place, PlannerInfo *root, RelOptInfo *rel,
							   Index rti, RangeTblEntry *rte);

#endif
