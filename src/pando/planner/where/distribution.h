/*
 * distribution.h: where the rows of a query level are.
 *
 * The planner's one analysis. Bottom-up over the Query tree (before planning, after
 * rewriting) each relation, join, subquery, CTE and set operation gets a Distribution;
 * rules say what joins, grouping, DISTINCT, windows, LIMIT and set operations do to it.
 * Nothing is changed.
 */
#ifndef PANDO_PLANNER_DISTRIBUTION_H
#define PANDO_PLANNER_DISTRIBUTION_H

#include "pando/compat/compat.h"
#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "pando/planner/query/query_facts.h"

typedef enum DistributionKind
{
	DIST_ANYWHERE, /* reference tables, VALUES, immutable functions: same on every node */
	DIST_SHARDED,  /* each shard group yields a disjoint part; the union is the result */
	DIST_SINGLE,   /* all rows come from one shard group, known at execution at the latest
					*/
	DIST_COORDINATOR /* must be put together here; `reason` names the construct */
} DistributionKind;

typedef struct Distribution
{
	DistributionKind kind;
	Oid anchor; /* SHARDED, SINGLE: one of its tables; ANYWHERE: a reference table or
				 * InvalidOid when no relation at all */
	int32 colocation; /* SHARDED, SINGLE */
	bool pruned;	  /* SHARDED, SINGLE: only shard groups of `keys` hold rows */
	List *keys; /* Exprs of the anchor's key type without Vars (Const, external Param,
				 * stable function of such); any of them, evaluated at execution. A
				 * single-shard table is SINGLE, not pruned */
	Bitmapset *key_columns; /* SHARDED: output columns (resno) equal to the distribution
							 * column, so that an upper level may join or group by them */
	const char *reason;		/* COORDINATOR: why, to be read by a user */
	QueryFacts facts;		/* of the query */
} Distribution;

extern Distribution distribution_of_query(Query *query);

/*
 * The same for the rows of a query that matter once each (query_is_set()), before its
 * DISTINCT, ORDER BY and LIMIT: those that EXISTS finds on one shard or the other are as
 * those of a join.
 */
extern Distribution distribution_of_set(Query *query);

/* Does the distribution name shards (not only reference tables)? */
extern bool distribution_has_shards(const Distribution *distribution);

/*
 * While an UPDATE of that table is planned, none of whose rows gets a value of the
 * distribution column that belongs to another shard. Returns what to set back.
 */
extern Oid rows_stay_in(Oid relid);
extern bool rows_are_known_to_stay(Oid relid);

#endif
