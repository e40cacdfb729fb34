/*
 * aggregate.h: how an aggregate is split between shards and coordinator.
 */
#ifndef PANDO_PLANNER_AGGREGATE_H
#define PANDO_PLANNER_AGGREGATE_H

#include "pando/compat/compat.h"
#include "nodes/primnodes.h"

typedef enum AggregateSplit
{
	SPLIT_NONE,		/* rows must be gathered */
	SPLIT_COUNT,	/* sum of counts */
	SPLIT_SUM,		/* sum of sums, cast back */
	SPLIT_AVERAGE,	/* a sum and a count */
	SPLIT_SAME,		/* the aggregate of its own results */
	SPLIT_GENERIC,	/* transition states travel: pando.partial_agg, pando.final_agg */
	SPLIT_DISTINCT, /* shards remove duplicates, the aggregate runs on the coordinator */
} AggregateSplit;

extern AggregateSplit aggregate_split(const Aggref *aggref);

/* What the shards compute, but for SPLIT_NONE, SPLIT_AVERAGE and SPLIT_DISTINCT. The
 * aggregate is of level 0. */
extern Aggref *aggregate_partial(const Aggref *aggref);

/* What makes the aggregate's result of the partial results in a column. */
extern Node *aggregate_final(const Aggref *aggref, Var *column);

/* The same for a count(DISTINCT) by sets of values; see distinct_set.h. */
extern Aggref *aggregate_set_partial(const Aggref *aggref);
extern Node *aggregate_set_final(const Aggref *aggref, Var *column);

/* The two partial aggregates of SPLIT_AVERAGE, and their quotient. */
extern Aggref *aggregate_average_sum(const Aggref *aggref);
extern Aggref *aggregate_average_count(const Aggref *aggref);
extern Node *aggregate_average_final(const Aggref *aggref, Var *sum, Var *count);

/*
 * Can the generic pair run the aggregate: are all types known from the aggregate alone,
 * and can its state travel?
 */
extern bool aggregate_state_travels(Oid aggregate);

#endif
