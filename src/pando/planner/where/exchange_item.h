/*
 * exchange_item.h: FROM items that read an exchange (exchange.c).
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_EXCHANGE_ITEM_H
#define PANDO_PLANNER_EXCHANGE_ITEM_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/plan/fragment.h"
#include "pando/planner/where/place.h"

/* A result of the scope that is exchanged, with what its readers need to know of it. */
typedef struct Exchange
{
	SubResult result; /* first: it stands for this in the scope */
	Query *query;
	Place *place; /* of its readers, where the key is Var 1.<column>; NULL: anywhere */
} Exchange;

/* The place of a FROM item that reads an exchange; NULL: it doesn't. */
extern Place *exchange_place(RangeTblEntry *rte, Index varno);

/* Puts the subqueries themselves where exchanges of them are read, in place: for
 * estimates. */
extern void exchange_expand(Query *query);

/* Does the FROM item read one? */
extern bool exchange_is_read(RangeTblEntry *rte);

#endif
