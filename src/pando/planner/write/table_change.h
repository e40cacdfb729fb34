/*
 * table_change.h: which tables a write changes, and how.
 *
 * Internal to the planner module.
 */
#ifndef PANDO_PLANNER_TABLE_CHANGE_H
#define PANDO_PLANNER_TABLE_CHANGE_H

#include "pando/compat/compat.h"
#include "nodes/parsenodes.h"

/* In this order several changes of one table are what PostgreSQL makes of them. */
typedef enum Change
{
	CHANGE_NOTHING,
	CHANGE_DELETE,
	CHANGE_UPDATE, /* or INSERT with ON CONFLICT DO UPDATE */
	CHANGE_INSERT
} Change;

/* The table that an INSERT, UPDATE or DELETE names. */
extern Oid write_target(const Query *query);

/* Has a row of the one table a place in the other: are they one, is one a partition of
 * the other or does it inherit from it, or does a third from both, at any depth? Both are
 * locked, and what is below them gets locked. */
extern bool tables_share_rows(Oid a, Oid b);

/* The tables (OIDs) that the query, at its own level, changes: the one that it names and
 * those that foreign keys take along. */
extern List *changed_tables(const Query *query);

/* What the query does with the table; `changed` are its changed_tables(). */
extern Change change_of_table(const Query *query, const List *changed, Oid relid);

#endif
