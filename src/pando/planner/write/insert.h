/*
 * insert.h: INSERT with rows written in the statement.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_INSERT_H
#define PANDO_PLANNER_INSERT_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"
#include "pando/metadata/table.h"
#include "pando/plan/fragment.h"

/* Does a query give its rows, neither VALUES nor the one row that its columns are? */
extern bool insert_is_of_select(Query *query);

/* The fragment of an INSERT; NULL when subqueries or functions give its rows. */
extern Fragment *insert_values_fragment(Query *query, const DistTable *target);

/* INSERT of rows in the statement, or of those of a child plan to be put below. */
extern Fragment *insert_rows_fragment(Query *query, const DistTable *target,
									  bool from_plan);

/* Why ON CONFLICT or RETURNING of the INSERT must be evaluated here, in words for a user;
 * NULL when a shard may do it. */
extern const char *insert_hazard(const Query *insert);

/* Is that so for its ON CONFLICT? Raises no error for any statement. */
extern bool conflict_is_for_here(const Query *query);

/* Raises an error unless ON CONFLICT and RETURNING of the INSERT can be evaluated on
 * shards. */
extern void check_on_shard(Query *insert, const DistTable *target);

/* Takes from an INSERT all that its rows come from: the deparser would take a subquery or
 * VALUES among its entries for their source, and refuses policies. Shards have no
 * identity columns. */
extern void insert_forget_source(Query *insert);

/* Does its ON CONFLICT have subqueries? */
extern bool conflict_has_sublinks(const Query *insert);

#endif
