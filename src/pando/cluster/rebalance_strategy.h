/*
 * rebalance_strategy.h: rows of pg_dist_rebalance_strategy, and who may use them now.
 */
#ifndef PANDO_CLUSTER_REBALANCE_STRATEGY_H
#define PANDO_CLUSTER_REBALANCE_STRATEGY_H

#include "pando/compat/compat.h"

#include "pando/cluster/rebalance_plan.h"

/* pg_dist_background_job.job_type of a rebalance. */
#define JOB_TYPE_REBALANCE "rebalance"

/* The strategy of that name, the default one for NULL, with a threshold and a least
 * improvement of the caller's in place of its own. */
extern RebalanceStrategy rebalance_strategy_find(const char *name, bool has_threshold,
												 double threshold, bool has_improvement,
												 double improvement);

/* One rebalance at a time: raises if there is another, in a transaction or as a job that
 * is not over. To the end of the transaction. */
extern void rebalance_lock(void);

#endif
