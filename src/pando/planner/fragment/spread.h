/*
 * spread.h: what is gained when several sessions of one node share a fragment's tasks.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_SPREAD_H
#define PANDO_PLANNER_SPREAD_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/plan/fragment.h"
#include "pando/planner/query/query_facts.h"

/*
 * Around the planning of a statement, which may happen while another one is planned: what
 * spread_statement_begin() returned goes to spread_statement_end(), also on error.
 */
extern bool spread_statement_begin(void);
extern void spread_statement_end(bool outer);

/* Notes whether the statement may write as it goes; before fragments are made of it. */
extern void spread_statement(const QueryFacts *facts);

/* Does the statement only read, as far as a fragment of it that runs the query goes? */
extern bool spread_only_reads(const Query *query);

/* For a fragment that runs the query. */
extern FragmentSpread spread_of_query(const Query *query, const QueryFacts *facts,
									  bool merges);

#endif
