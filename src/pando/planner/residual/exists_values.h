/*
 * exists_values.h: EXISTS as a test of values.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_EXISTS_VALUES_H
#define PANDO_PLANNER_EXISTS_VALUES_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/*
 * What stands for EXISTS (sublink), or NOT EXISTS, among the level's qualifications;
 * NULL: more than equalities tie it to its row. qual: the one that it is itself, NULL if
 * it is a part of one.
 */
extern Node *exists_of_values(Query *level, Node *qual, SubLink *sublink, bool negated);

#endif
