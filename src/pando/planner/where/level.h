/*
 * level.h: one query level under analysis, shared by the files that do it.
 */
#ifndef PANDO_PLANNER_LEVEL_H
#define PANDO_PLANNER_LEVEL_H

#include "pando/compat/compat.h"
#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "pando/metadata/table.h"
#include "pando/planner/where/place.h"

/* What a level puts out: its place, with the keys given as output columns. */
typedef struct Output
{
	Place *place; /* strict, not_null and weak are NIL: see below */
	Bitmapset *strict;
	Bitmapset *not_null;
	Bitmapset *weak;
} Output;

typedef struct Level
{
	Query *query;
	struct Level *parent;
	/* While the recursive part of a WITH RECURSIVE query is analysed: what its own name
	 * yields. */
	const char *recursive_name;
	Output *recursive_result;
	/* What its WITH queries put out, each analysed once however often it is read. */
	List *with_outputs;
} Level;

/* An output at that place, without keys. */
extern Output *output_at(Place *place);
extern Output *output_coordinator(const char *reason);

/*
 * A level's place as its parent sees it: column references lose one level. What was bound
 * to a column of the parent is now bound to a Var of level 0.
 */
extern Place *place_raised(Place *place);

/* What a query puts out; parent: the level that it is part of, NULL for none. */
extern Output *level_analyse(Query *query, Level *parent);
extern Output *level_analyse_select(Level *level);
extern Output *level_analyse_setop(Level *level);
extern Output *level_analyse_write(Level *level);
extern Output *level_analyse_merge(Level *level, const DistTable *target);

/* The place of a level's FROM and WHERE. */
extern Place *level_place(Level *level);

/* The same for a query without a parent. */
extern Place *place_of_rows(Query *query);

/* The place with what its other expressions, its data-modifying WITH queries ask for. */
extern Place *level_attach_expressions(Level *level, Place *place);
extern Place *level_attach_writes(Level *level, Place *place);

/* May the level, evaluated on two copies of the same tables, give different rows? */
extern bool level_varies(Query *query, Place *place);

#endif
