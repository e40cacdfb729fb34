/*
 * cutting.h: replacing groups of FROM items of a level by something else: what cut.c and
 * exchange.c share.
 *
 * Internal to the planner module. First groups are found and cut one by one while the new
 * join tree is made; then cutting_finish() puts it in place and redirects all references
 * to the columns of what has been cut.
 */
#ifndef PANDO_PLANNER_CUTTING_H
#define PANDO_PLANNER_CUTTING_H

#include "pando/compat/compat.h"
#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "pando/planner/residual/cut_group.h"

typedef struct Cut
{
	CutGroup *group;
	Query *part;
	Index varno; /* of what comes in its place: one that a cut item had */
	/* Gives the FROM item, once the part has all of its columns; NULL: a fragment. */
	RangeTblEntry *(*replace)(struct Cut *cut);
	void *data;
} Cut;

typedef struct Cutting
{
	Query *query;
	List *cuts;		  /* Cut * */
	List *consumed;	  /* qualifications that a cut has taken, by pointer */
	bool outer_joins; /* columns of what is cut may be NULL-extended */
	int depth;		  /* of the redirecting pass */
} Cutting;

extern void cutting_start(Cutting *cutting, Query *query);
extern void cutting_finish(Cutting *cutting, Node *tree);

/* Cuts the group, with the qualifications that concern it alone; the item in its place.
 */
extern Node *cutting_cut(Cutting *cutting, CutGroup *group, List *quals);

/* Without those that went into a cut. */
extern List *cutting_not_consumed(Cutting *cutting, List *quals);

#endif
