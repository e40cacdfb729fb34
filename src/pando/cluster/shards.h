/*
 * shards.h: the shards of a table: ranges, placements, their relations on the nodes.
 */
#ifndef PANDO_CLUSTER_SHARDS_H
#define PANDO_CLUSTER_SHARDS_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/cluster/table_check.h"

/* A shard to be. */
typedef struct ShardPlan
{
	int64 id;
	bool ranged;
	int32 min;
	int32 max;
	List *groups; /* node groups (int list) */
} ShardPlan;

/*
 * Chooses ids, hash ranges and placements, and registers the table with them on all
 * nodes. Shards line up with those of the spec's model if it has one; else they go round
 * robin over the nodes that take shards. Reference tables have a placement on every node.
 */
extern void shards_register_table(const TableSpec *spec);

/* The same in two steps. The plan: List of ShardPlan *, in order of ranges. */
extern List *shards_plan(const TableSpec *spec);
extern void shards_register_planned(const TableSpec *spec, List *plans);

/* A plan for a table whose shards line up with those of another plan. */
extern List *shards_plan_like(List *plans);

/* Do they line up with the table's shards? */
extern bool shards_plan_fits(List *plans, const DistTable *table);

/*
 * Runs one stage of pando.shards_create() for all placements of the table, all nodes at
 * once: "table", "indexes", "foreign_keys", or "all" of them.
 */
extern void shards_create_on_nodes(Oid relid, const char *stage);

/*
 * Registers a new shard of a table that is split by ranges or by append, without a range,
 * on the next nodes in turn; returns its id. shards_create_one_on_nodes() makes its
 * relations, with all that belongs to them.
 */
extern int64 shards_register_empty(const DistTable *table, int copies);
extern void shards_create_one_on_nodes(Oid relid, int64 shard_id);

/* Waits until nothing that has been written to a shard is left prepared (group_lock.h),
 * and keeps it so. */
extern void shards_lock_on_nodes(Oid relid);

/* Drops the relations of all placements. */
extern void shards_drop_on_nodes(Oid relid);

/* Raises unless there are enough nodes for the replication factor. */
extern void shards_check_replication(const TableSpec *spec);

#endif
