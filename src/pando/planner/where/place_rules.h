/*
 * place_rules.h: what joins, filters and sublinks do to a place.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_PLACE_RULES_H
#define PANDO_PLANNER_PLACE_RULES_H

#include "pando/compat/compat.h"
#include "pando/planner/query/equality.h"
#include "pando/planner/where/place.h"

/* Takes what holds for all rows: values and outer columns that a key equals, IN lists. */
extern void place_restrict(Place *place, const Equalities *equalities, List *quals);

/* The rows of an inner join of the places. */
extern Place *place_join(List *places, const Equalities *equalities);

/* The rows of left LEFT JOIN right; right was restricted by the join's own quals. */
extern Place *place_left_join(Place *left, Place *right);

/* The rows of left FULL JOIN right with the equalities of its quals. */
extern Place *place_full_join(Place *left, Place *right, const Equalities *equalities);

/*
 * The place of rows for which a sublink is evaluated. `sublink` as seen from this level;
 * the rows' own place otherwise.
 */
extern Place *place_with_sublink(Place *place, Place *sublink);

#endif
