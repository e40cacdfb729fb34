/*
 * rebalance_plan.h: which shard groups to move so that nodes carry even loads.
 */
#ifndef PANDO_CLUSTER_REBALANCE_PLAN_H
#define PANDO_CLUSTER_REBALANCE_PLAN_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/metadata/node.h"

/* A row of pg_dist_rebalance_strategy. */
typedef struct RebalanceStrategy
{
	char *name;
	Oid shard_cost;		/* function(shardid bigint) real */
	Oid node_capacity;	/* function(nodeid int) real */
	Oid shard_allowed;	/* function(shardid bigint, nodeid int) boolean */
	double threshold;	/* a node's load may be off the average by this part of it */
	double improvement; /* part of a shard's cost by which a move must lower the peak */
} RebalanceStrategy;

typedef struct RebalanceRequest
{
	Oid relid; /* only its colocation group; InvalidOid: all */
	RebalanceStrategy strategy;
	int max_moves;
	List *excluded;	 /* int64 *: shards that stay where they are */
	bool drain_only; /* only away from nodes that should have no shards */
} RebalanceRequest;

typedef struct RebalanceMove
{
	int64 shard_id; /* of one table of the group */
	const DistNode *source;
	const DistNode *target;
} RebalanceMove;

/* The moves in order (List of RebalanceMove *). */
extern List *rebalance_plan(const RebalanceRequest *request);

#endif
