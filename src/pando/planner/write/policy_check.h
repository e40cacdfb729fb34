/*
 * policy_check.h: what policies ask of rows that move to another shard.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_POLICY_CHECK_H
#define PANDO_PLANNER_POLICY_CHECK_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"

/*
 * A boolean expression over the statement's table, as it will be, which raises
 * PostgreSQL's error (42501) where a check of row-level security among the
 * WithCheckOptions doesn't hold; NULL if there is none. column: one of
 * the table's.
 */
extern Node *policy_check(List *options, Var *column);

/* The options that are of row-level security. */
extern List *policy_options(List *options);

#endif
