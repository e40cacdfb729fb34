/*
 * distinct_set.h: the distinct values of a column as one value.
 */
#ifndef PANDO_PLANNER_DISTINCT_SET_H
#define PANDO_PLANNER_DISTINCT_SET_H

#include "pando/compat/compat.h"
#include "nodes/primnodes.h"

/* Is it count(DISTINCT column), of values that a set can hold? */
extern bool distinct_set_counts(const Aggref *aggref);

/* Bytes of memory that so many values take, while they are counted. */
extern double distinct_set_bytes(double values);

#endif
