/*
 * steps.h: statements with several writes as a sequence of steps.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_STEPS_H
#define PANDO_PLANNER_STEPS_H

#include "pando/compat/compat.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* A plan that runs to its end before the main query. */
typedef struct Step
{
	char *name;
	Query *query;
	List *reads;	  /* RangeTblEntry *, of its kept rows */
	Oid finds;		  /* rows of that table, which later steps change, or leave out */
	int hidden;		  /* columns, the last ones, that step_read_instead() leaves out */
	bool counts;	  /* its rows are those that the statement returns */
	bool keeps_shard; /* an UPDATE of the distribution column that moves no row */
	bool by_line;	  /* an UPDATE or DELETE of rows_numbered_by_line(), its last item */
	bool
		fires_nothing; /* triggers of rows that are changed are fired elsewhere, or not */
} Step;

/* An item of FROM for steps after it, and for the main query: the step's kept rows. */
extern RangeTblEntry *step_rte(Step *step);

/* What was a table or a reference to a WITH query becomes a read of the step's rows: a
 * CteUse. */
extern void step_read_instead(RangeTblEntry *rte, int depth, void *step);

/* Adds a column to a step's query; its number. */
extern int steps_add_column(Query *query, Node *expr, const char *name);

/* The plan of steps (Step *), in that order, and a main query; `original`: what they are
 * made of. */
extern PlannedStmt *plan_steps(List *steps, Query *main, Query *original,
							   int cursor_options, ParamListInfo params);

/*
 * The plan of a statement with data-modifying WITH queries, or whose RETURNING is
 * computed here. Raises feature_not_supported where PostgreSQL's result could differ.
 */
extern PlannedStmt *plan_in_steps(Query *query, int cursor_options, ParamListInfo params);

#endif
