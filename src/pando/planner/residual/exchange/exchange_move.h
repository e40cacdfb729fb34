/*
 * exchange_move.h: which rows are best sent where those they are joined with are.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_EXCHANGE_MOVE_H
#define PANDO_PLANNER_EXCHANGE_MOVE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "pando/planner/residual/cutting.h"
#include "pando/planner/where/place.h"

/* One group of a join and where it goes. */
typedef struct Move
{
	CutGroup *group;
	Node *column; /* Var whose hash decides; NULL: to all nodes */
	bool keep_nulls;
	Place *place; /* what it meets there; NULL: to all nodes */
} Move;

typedef struct Choice
{
	Move moves[2];
	int nmoves;
	double cost; /* < 0: none found yet */
	double sent; /* the part of it that is for the rows sent */
} Choice;

/* Bytes of the group's rows, with the columns that the rest of the level needs. */
extern double group_bytes(Query *query, const CutGroup *group, List *quals);

/* The cheapest move that lets two groups of an inner join meet; none where it is better
 * to have all rows come here. */
extern Choice move_of_inner_join(Query *query, List *groups, List *quals);

/* One for an outer join of that type; the lists are the qualifications that hold for its
 * left side, for its right side, and its own. */
extern Choice move_of_outer_join(Query *query, CutGroup *left, CutGroup *right,
								 List *above_left, List *above_right, List *quals,
								 JoinType type);

/* Are the rows that an INSERT gets from the query enough to be sent from node to node? */
extern bool exchange_of_insert_pays(Query *select);

/* Defines the settings; once, when the library is loaded. */
extern void exchange_move_init(void);

#endif
