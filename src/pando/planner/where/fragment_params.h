/*
 * fragment_params.h: what a fragment's text gets as values from this node.
 */
#ifndef PANDO_PLANNER_FRAGMENT_PARAMS_H
#define PANDO_PLANNER_FRAGMENT_PARAMS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"

/*
 * A copy of the query in which external Params and the largest expressions that call
 * stable functions and refer to no column are Params numbered from 1, each cast to its
 * type by name. Appends the expressions they stand for to *params; equal ones are one
 * Param.
 */
extern Query *fragment_params_extract(const Query *query, List **params);

/* `($n)::type` for the value of an expression, with its collation; the same n for equal
 * ones unless they vary. */
extern Node *fragment_param(Node *expr, List **params);

/* Can a value of the type be sent as text and be read by name? */
extern bool value_can_be_sent(Oid type);

#endif
