/*
 * query_facts.h: what is asked of every query tree, found in one walk.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_QUERY_FACTS_H
#define PANDO_PLANNER_QUERY_FACTS_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* Of all levels of the tree. */
typedef struct QueryFacts
{
	bool outer_columns; /* refers to columns or aggregates of a level above it */
	bool join_columns;	/* refers to columns of JOINs, not of what they join */
	bool locks;			/* locks rows */
	bool places;		/* asks for the places of rows */
	bool limits;		/* LIMIT or OFFSET leave rows out */
	bool varies;		/* has volatile functions of any kind */
	bool may_write;		/* has volatile functions of users, which may change tables */
	bool serial;		/* has functions that are not PARALLEL SAFE */
	bool procedural;	/* has functions whose cost nobody knows */
} QueryFacts;

extern QueryFacts query_facts(Query *query);

/* Has it functions that parallel workers may call, and that may read tables: distributed
 * ones, which a worker can't? It ends at the first one. */
extern bool query_may_read_in_functions(Query *query);

#endif
