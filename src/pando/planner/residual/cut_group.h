/*
 * cut_group.h: groups of FROM items that can be evaluated on the shards together.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_CUT_GROUP_H
#define PANDO_PLANNER_CUT_GROUP_H

#include "pando/compat/compat.h"
#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "pando/planner/where/distribution.h"

/* FROM items that are evaluated together. */
typedef struct CutGroup
{
	List *items;
	Relids relids;
	Relids lateral;	 /* FROM items that the group's items refer to sideways */
	List *quals;	 /* those with sublinks that were found to fit */
	List *arguments; /* values of outer rows and the like that its fragment is sent */
	Distribution distribution;
	bool secured; /* row-level security: other filters must not leak */
} CutGroup;

/* A group of one item of the query; quals: those of the inner join that it is in. */
extern CutGroup *group_of_item(Query *query, Node *item, List *quals);

/* Groups that can be evaluated on the shards together become one. */
extern List *groups_merge(Query *query, List *groups, List *quals);

/* May the qualification go into a part with these relations, sublinks aside? */
extern bool group_may_have(Node *qual, const CutGroup *group);

/* The group's own qualifications, and those of the list that may go into it. */
extern List *group_quals(const CutGroup *group, List *quals);

/* Fills the group's distribution. */
extern void group_judge(Query *query, CutGroup *group, List *quals);

/* Takes those with sublinks, too, as long as the group can still be evaluated. */
extern void group_take_sublinks(Query *query, CutGroup *group, List *quals);

/* Does the level use a column of its FROM items that can't be one of a fragment's? */
extern bool level_uses_records(Query *query);

#endif
