/*
 * outside.h: commands that each node runs outside a transaction, shard after shard.
 *
 * The work survives the commits in between. Nodes run in parallel; on one node commands
 * run one after the other, in the order they were added. This node's run in the backend.
 */
#ifndef PANDO_DDL_OUTSIDE_H
#define PANDO_DDL_OUTSIDE_H

#include "pando/compat/compat.h"
#include "nodes/pg_list.h"

#include "pando/ddl/handler.h"
#include "pando/ddl/shard_ddl.h"

typedef struct OutsideWork OutsideWork;

/* A shard placement; starts with its map so that it serves as one. */
typedef struct OutsideShard
{
	ShardMap map;
	int32 group;
} OutsideShard;

/* `hint` says what to do after a failure half-way. */
extern OutsideWork *outside_begin(const char *hint);

/* A command for one node group; for each node but this one. */
extern void outside_add(OutsideWork *work, int32 group, const char *command);
extern void outside_on_other_nodes(OutsideWork *work, const char *command);

/* All placements of a table (List of OutsideShard *). */
extern List *outside_shards(OutsideWork *work, Oid relid);

/* Runs it all. Raises the first error, with the hint. */
extern void outside_run(OutsideWork *work);

/* Runs a job's own statement on this node, in a transaction of its own, with the hint. */
extern void outside_run_shell(OutsideWork *work, DdlJob *job);

/* Ends the transaction, with what it did on other nodes, and begins another one. */
extern void outside_commit(void);

#endif
