/*
 * relations.h: which distributed relations a statement has, and what is asked of them
 * all.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_RELATIONS_H
#define PANDO_PLANNER_RELATIONS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* What distributed relations a query has, at all levels. */
typedef struct DistRelations
{
	bool any;
	bool sharded;	   /* hash or single-shard tables */
	bool modified;	   /* one of any kind is the target of a write */
	bool fires_here;   /* so is one of those that fire triggers in the client's backend */
	bool with_queries; /* WITH, at any level */
	bool sublinks;	   /* at any level */
	bool places;	   /* ctid or tableoid is used, where shards have one of their own */
	bool samples;	   /* TABLESAMPLE of a distributed table, with arguments from rows */
	bool sql_functions; /* calls a user's SQL function in FROM: may be inlined */
} DistRelations;

/* Cheap for a query without any: one look at each relation. */
extern DistRelations query_dist_relations(Query *query);

/* Are columns, subqueries or volatile functions among the arguments of its sample? */
extern bool sample_is_for_here(const RangeTblEntry *rte);

/* Is it such an argument? */
extern bool sample_argument_is_for_here(Node *argument);

/* Does it use no rows, but come out otherwise each time? */
extern bool sample_argument_varies(Node *argument);

#endif
