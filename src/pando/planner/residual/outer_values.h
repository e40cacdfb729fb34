/*
 * outer_values.h: the values that can occur in the rows that a sublink is evaluated for.
 *
 * Internal to the planner module. `but` is the qualification that the sublink is in: it
 * does not count.
 */
#ifndef PANDO_PLANNER_OUTER_VALUES_H
#define PANDO_PLANNER_OUTER_VALUES_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* Can the qualification be evaluated with the item's rows alone, anywhere and in any
 * order? */
extern bool qual_is_filter_of(Node *qual, Index varno);

/*
 * A change looks once more at rows that somebody else has changed while it waited for
 * them: with what was true of those that it had found before it would miss their values.
 */
extern bool level_is_change(const Query *level);

/*
 * SELECT what the ties (tie.h) compare with FROM the level's item WHERE its filters, and
 * `more` unless that is NULL. NULL: it isn't one table, or nothing filters it.
 */
extern Query *outer_values(Query *level, List *ties, Node *but, Node *more);

/* Leaves of the query, whose ties were taken, the rows with values that can occur; all of
 * them where that can't be said. */
extern void restrict_to_values(Query *query, Query *level, List *ties, Node *but);

#endif
