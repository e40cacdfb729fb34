/*
 * estimate.h: how many rows a query piece yields, how wide they are, what it costs.
 */
#ifndef PANDO_PLANNER_ESTIMATE_H
#define PANDO_PLANNER_ESTIMATE_H

#include "pando/compat/compat.h"
#include "access/htup.h"
#include "nodes/parsenodes.h"
#include "pando/planner/where/distribution.h"

typedef struct Estimate
{
	double rows;		/* all tasks together; at least 1 */
	int width;			/* bytes of a row as PostgreSQL counts them */
	double groups;		/* were all tasks one */
	double input;		/* rows below the top grouping, DISTINCT and LIMIT */
	Cost cost;			/* of computing it all, without moving rows */
	List *column_stats; /* estimate_per_task(): a HeapTuple like pg_statistic's, or NULL,
						 * for each column that is not junk; NIL where nothing is known */
	bool mixed;			/* these columns are of several tables: a group for each pair of
						 * values is likelier than with columns of one */
} Estimate;

/*
 * The estimate of a query that is complete in itself (no outer references); it may read
 * shell tables, fragments of the scope and intermediate results that have plans. It is
 * not changed.
 */
extern Estimate estimate_query(Query *query);

/*
 * The same for one whose top level is computed by each of `tasks` for itself: grouping,
 * DISTINCT and LIMIT leave up to that many times the rows.
 */
extern Estimate estimate_per_task(Query *query, int tasks);

/* Rows of so many parts of `rows` rows that have `groups` groups together. */
extern double estimate_groups(double rows, double groups, int parts);

/* How many values do n rows have if m of them, spread as the others, have d? */
extern double estimate_distinct(double d, double m, double n);

/* On how many shard groups a piece with that distribution runs. */
extern int estimate_tasks(const Distribution *distribution);

/* On how many nodes those are. */
extern int estimate_nodes(const Distribution *distribution);

/*
 * Is one of these being made? Only then the sizes of tables without statistics are worth
 * asking other nodes for.
 */
extern bool estimate_under_way(void);

/* A row like pg_statistic's that says nothing but the number of distinct values. */
extern HeapTuple estimate_column_stats(double distinct);

/* Rows of a table as VACUUM or ANALYZE counted them; below zero: they have not. */
extern double estimate_counted_rows(Oid relid);

/* Bytes that so many rows are on the wire. */
extern double estimate_bytes(double rows, int width);

#endif
