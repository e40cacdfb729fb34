/*
 * policy_check.h: what policies ask of rows that shards don't ask.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_POLICY_CHECK_H
#define PANDO_PLANNER_POLICY_CHECK_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"

/*
 * A boolean expression over the statement's table, as it will be, or as it is (kind:
 * WCO_RLS_UPDATE_CHECK, or any other), which raises PostgreSQL's error (42501) where a
 * check of that kind among the WithCheckOptions doesn't hold; NULL if there is none.
 * of_row: an expression over the table that is no constant.
 */
extern Node *policy_check(List *options, WCOKind kind, Node *of_row);

/* The options of the kind. */
extern List *policy_options(List *options, WCOKind kind);

#endif
